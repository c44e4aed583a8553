package import HTTPTypes
package import HummingbirdCore
package import NIOCore
import Units

/// The answer to a request. HEAD requests get its head alone.
package struct HTTPAnswer: Sendable {
    package var status: HTTPResponse.Status
    /// Header fields besides Content-Length.
    package var fields: HTTPFields
    package var body: String

    package init(status: HTTPResponse.Status, fields: HTTPFields = [:], body: String = "") {
        self.status = status
        self.fields = fields
        self.body = body
    }

    package var head: HTTPResponse {
        var fields = fields
        fields[.contentLength] = String(body.utf8.count)
        return HTTPResponse(status: status, headerFields: fields)
    }
}

/// Why a request ends its connection instead of getting an answer.
package enum RequestError: Error {
    case tooLong
    /// The client sent too much in a short time.
    case tooFast
    /// The connection ended before the request did.
    case incomplete
}

extension Request {
    /// Reads the body to its end, `take` by `take`; a client that needs more than `time` for it loses the
    /// connection. Throws a ``RequestError`` when the body is longer than `limit` or shorter than announced, and
    /// what `take` throws.
    ///
    /// Unwanted bodies have to be read, too: a connection continues with its next request only after this one was read.
    package func readBody(
        atMost limit: ByteCount,
        within time: Duration,
        on channel: any Channel,
        take: (ByteBuffer) throws(RequestError) -> Void = { _ in }
    ) async throws {
        let timeout = channel.eventLoop.scheduleTask(in: TimeAmount(time)) { channel.close(promise: nil) }
        defer { timeout.cancel() }
        var count = 0
        for try await part in body {
            count += part.readableBytes
            guard count <= limit.bytes else { throw RequestError.tooLong }
            try take(part)
        }
        if let length = headers[.contentLength], Int(length) != count { throw RequestError.incomplete }
    }
}
