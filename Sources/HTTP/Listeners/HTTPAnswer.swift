import Core
import HTTPTypes
import HummingbirdCore
import NIOCore

/// The answer to a request. HEAD requests get its head alone.
package struct HTTPAnswer: Sendable {
    package enum Body: Sendable {
        case whole(ByteBuffer)
        /// It comes about while it is sent, and nobody knows how long it gets.
        case live(any LiveBody)
    }

    package var status: HTTPResponse.Status
    /// Header fields besides Content-Length.
    package var fields: HTTPFields
    package let body: Body

    package init(status: HTTPResponse.Status, fields: HTTPFields = [:], body: String = "") {
        self.status = status
        self.fields = fields
        self.body = .whole(ByteBuffer(string: body))
    }

    /// An answer of any bytes. A status that has no body gets none.
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

    /// Whether a message of this status ends with its head (RFC 9110 section 6.4.1).
    private static func isBodiless(_ status: HTTPResponse.Status) -> Bool {
        status == .noContent || status == .notModified
    }
}

/// A body that comes about while it is sent. One reader takes its parts; what is not taken yet is bounded.
package protocol LiveBody: AnyObject, Sendable {
    /// Waits for the next part, which is not empty; nil: that was all.
    func next() async -> ByteBuffer?
    /// Nobody reads on, or there is no more: ``next()`` returns nil from now on. Called from any thread, also twice.
    func end()
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
