internal import PluginKit

/// A message for one subscription, without its signature; the same on every attempt.
package struct SignedMessage: Sendable {
    package let endpoint: Endpoint
    /// Names are in lower case.
    package private(set) var headers: [(name: StaticString, value: String)] = []
    package var body: [UInt8] = []

    package init(to endpoint: Endpoint) {
        self.endpoint = endpoint
        headers.reserveCapacity(6)
    }

    package mutating func addHeader(_ name: StaticString, _ value: String) {
        headers.append((name, value))
    }

    /// `authorization` is nil for an unsigned message. `timeout` is in milliseconds.
    func request(authorization: String?, timeout: UInt32) -> HTTPRequest {
        let options: HTTPRequest.Options =
            PushService.isBusy(endpoint.origin) ? [.untrustedURL, .multiplex] : .untrustedURL
        var request = HTTPRequest("POST", url: endpoint.url, options: options)
        request.timeout = timeout
        request.maxResponseBytes = 4096
        for header in headers {
            request.addHeader(header.name, header.value)
        }
        if let authorization {
            request.addHeader("authorization", authorization)
        }
        request.body = body
        return request
    }
}

/// A message in flight, and the keys that are left to try.
struct SendingAttempt: Sendable {
    /// All requests of a message fit into the host's time limit for a delivery, however slow the push service is and
    /// however many keys there are. In milliseconds.
    private static let longestSending: Int64 = 55_000
    private static let longestRequest: Int64 = 30_000
    private static let shortestRequest: Int64 = 5_000

    let ticket: Ticket
    let message: SignedMessage
    /// Indices of the tokens that are left to try. The first is in use; empty for an unsigned message.
    var tokens: [Int]
    /// The token of the first request.
    let first: Int?
    /// Whether the registration names its key.
    let isKeyNamed: Bool
    /// In milliseconds since 1970.
    let startedAt: Int64
    /// Whether the token in use was refused once and replaced.
    var wasRenewed = false

    /// The time limit of the next request, in milliseconds; nil if no time is left.
    func timeout(now: Int64) -> UInt32? {
        let left = Self.longestSending - max(0, now - startedAt)
        return left < Self.shortestRequest ? nil : UInt32(min(left, Self.longestRequest))
    }
}
