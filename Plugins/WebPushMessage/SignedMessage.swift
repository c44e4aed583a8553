internal import PluginKit
import Units

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

    /// `authorization` is nil for an unsigned message.
    func request(authorization: String?, timeout: Duration) -> HTTPRequest {
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
    /// however many keys there are.
    private static let longestSending: Duration = .seconds(55)
    private static let longestRequest: Duration = .seconds(30)
    private static let shortestRequest: Duration = .seconds(5)

    let ticket: Ticket
    let message: SignedMessage
    /// Indices of the tokens that are left to try. The first is in use; empty for an unsigned message.
    var tokens: [Int]
    /// The token of the first request.
    let first: Int?
    /// Whether the registration names its key.
    let isKeyNamed: Bool
    let startedAt: Timestamp
    /// Whether the token in use was refused once and replaced.
    var wasRenewed = false

    /// The time limit of the next request; nil if no time is left.
    func timeout(now: Timestamp) -> Duration? {
        let left = Self.longestSending - max(.zero, now - startedAt)
        return left < Self.shortestRequest ? nil : min(left, Self.longestRequest)
    }
}
