import Core
import HTTPTypes
import HummingbirdCore
import NIOCore

/// A response. HEAD requests get only its head.
package struct HTTPAnswer: Sendable {
    package enum Body: Sendable {
        case whole(ByteBuffer)
        /// Produced while it is sent; its length is unknown.
        case live(any LiveBody)
    }

    package var status: HTTPResponse.Status
    /// Header fields except Content-Length.
    package var fields: HTTPFields
    package let body: Body

    package init(status: HTTPResponse.Status, fields: HTTPFields = [:], body: String = "") {
        self.status = status
        self.fields = fields
        self.body = .whole(ByteBuffer(string: body))
    }

    /// A response with these bytes, except for a status without a body.
    package init(status: HTTPResponse.Status, fields: HTTPFields = [:], bytes: [UInt8]) {
        self.status = status
        self.fields = fields
        body = .whole(ByteBuffer(bytes: Self.isBodiless(status) ? [] : bytes))
    }

    package init(status: HTTPResponse.Status, fields: HTTPFields = [:], live body: any LiveBody) {
        self.status = status
        self.fields = fields
        self.body = .live(body)
    }

    package var head: HTTPResponse {
        var fields = fields
        if case .whole(let bytes) = body, !Self.isBodiless(status) {
            fields[.contentLength] = String(bytes.readableBytes)
        }
        return HTTPResponse(status: status, headerFields: fields)
    }

    /// Whether a response of this status ends with its head (RFC 9110 section 6.4.1).
    private static func isBodiless(_ status: HTTPResponse.Status) -> Bool {
        status == .noContent || status == .notModified
    }
}

/// A body that is produced while it is sent. One reader takes its parts; its buffer is bounded.
package protocol LiveBody: AnyObject, Sendable {
    /// Waits for the next part, which is not empty; nil: the end.
    func next() async -> ByteBuffer?
    /// Ends the body: ``next()`` returns nil from now on. Called from any thread, also more than once.
    func end()
}

/// Why a request closes its connection instead of getting a response.
package enum RequestError: Error {
    case tooLong
    /// The client exceeded its rate limit.
    case tooFast
    /// The connection ended before the request did.
    case incomplete
}

extension Request {
    /// Reads the body to its end and passes each part to `take`; a client that needs more than `time` loses the
    /// connection. Throws a ``RequestError`` if the body exceeds `limit` or is shorter than announced, and rethrows
    /// errors of `take`.
    ///
    /// Unwanted bodies must be read too: a connection's next request starts only after the body.
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
