import HTTPTypes
package import HummingbirdCore
package import NIOCore

/// A request that ends the connection rather than being answered.
package enum RequestMistake: Error {
    case tooLong
    /// The client brought too much of late.
    case tooFast
    /// The connection ended first.
    case incomplete
}

extension Request {
    /// Reads the body to its end, `take` by `take`; a client that needs more than `seconds` for it loses the connection. Throws a
    /// ``RequestMistake`` when it has more than `limit` bytes or fewer than it said, and what `take` throws.
    ///
    /// Also for bodies that nobody wants: a connection goes on with its next request only when this one was read.
    package func readBody(
        atMost limit: Int,
        within seconds: Int64,
        on channel: any Channel,
        take: (ByteBuffer) throws(RequestMistake) -> Void = { _ in }
    ) async throws {
        let tardy = channel.eventLoop.scheduleTask(in: .seconds(seconds)) { channel.close(promise: nil) }
        defer { tardy.cancel() }
        var count = 0
        for try await part in body {
            count += part.readableBytes
            guard count <= limit else { throw RequestMistake.tooLong }
            try take(part)
        }
        if let length = headers[.contentLength], Int(length) != count { throw RequestMistake.incomplete }
    }
}
