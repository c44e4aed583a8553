import Cipher
import Core
package import PluginKit

/// A message for one subscription, without its signature; the same on every attempt.
package struct SignedMessage: Sendable {
    package let endpoint: Endpoint
    /// The headers, with names in lower case.
    package private(set) var headers: [(name: StaticString, value: String)] = []
    package var body: [UInt8] = []

    package init(to endpoint: Endpoint) {
        self.endpoint = endpoint
        headers.reserveCapacity(6)
    }

    package mutating func addHeader(_ name: StaticString, _ value: String) {
        headers.append((name, value))
    }

    /// Returns the request; `authorization` is nil for an unsigned message.
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

/// A message in flight, and the remaining keys to try.
struct SendingAttempt: Sendable {
    /// The time for all requests of a message, within the host's limit for a delivery. It does not depend on the number
    /// of keys.
    private static let longestSending: Duration = .seconds(55)
    private static let longestRequest: Duration = .seconds(30)
    private static let shortestRequest: Duration = .seconds(5)

    let ticket: Ticket
    let message: SignedMessage
    /// Indices of the remaining tokens. The first is in use; empty for an unsigned message.
    var tokens: [Int]
    /// The token of the first request.
    let first: Int?
    /// Whether the registration names its key.
    let isKeyNamed: Bool
    let startedAt: Timestamp
    /// Whether the token in use was refused once and replaced.
    var wasRenewed = false

    /// Returns the timeout of the next request, or nil if no time is left.
    func timeout(now: Timestamp) -> Duration? {
        let left = Self.longestSending - max(.zero, now - startedAt)
        return left < Self.shortestRequest ? nil : min(left, Self.longestRequest)
    }
}

/// The value of `TTL` (RFC 8030 section 5.2), in seconds.
package enum TimeToLive {
    /// A day.
    private static let standard: Duration = .days(1)
    /// The longest that push services store a message: four weeks.
    package static let longest: Duration = .days(28)

    /// Returns the time from `now` to `expiresAt`; 0 means one attempt.
    package static func seconds(until expiresAt: Timestamp?, now: Timestamp) -> Int64 {
        guard let expiresAt else { return standard.seconds }
        return min(max(.zero, expiresAt - now), longest).seconds
    }
}

/// The value of `Topic` (RFC 8030 section 5.4): up to 32 characters of base64url. A message replaces undelivered ones
/// with the same topic.
package enum Topic {
    private static let limit = 32

    /// Returns a topic made from the key's SHA-256, so that every key fits and its text stays private. Nil for an empty
    /// key.
    package static func make(_ collapseKey: BorrowedText) -> String? {
        collapseKey.isEmpty ? nil : digest([UInt8](collapseKey.bytes))
    }

    /// Returns the operator's text if it is a valid topic, otherwise its hash. Nil for an empty text.
    package static func make(_ topic: String) -> String? {
        guard !topic.isEmpty else { return nil }
        return topic.utf8.count <= limit && topic.utf8.allSatisfy(isTopicByte) ? topic : digest([UInt8](topic.utf8))
    }

    private static func digest(_ key: [UInt8]) -> String {
        Base64URL.encode([UInt8](SHA256.hash(key).prefix(24)))
    }

    private static func isTopicByte(_ byte: UInt8) -> Bool { byte.isASCIILetterOrDigit || byte.isOne(of: "-_") }
}

extension Urgency {
    /// The value of `Urgency` (RFC 8030 section 5.3). Never `very-low`, which waits for power and Wi-Fi.
    package var headerValue: String {
        switch self {
        case .low: "low"
        case .normal: "normal"
        case .high: "high"
        }
    }
}

/// The endpoint of one subscription. Its URL is secret.
package struct Endpoint: Sendable {
    package let url: String
    /// The origin in the form of RFC 6454 section 6.1: lower case, no default port.
    package let origin: String
    /// The host in lower case, without port.
    package let host: String
    package let isSecure: Bool

    /// The push service that operates the endpoint.
    package var service: PushService { PushService(host: host) }

    /// Returns nil unless the token is an `https` or `http` URL of at most `limit` bytes.
    package init?(_ token: BorrowedText, limit: Int) {
        guard (1...limit).contains(token.count) else { return nil }
        let text = token.string
        guard let url = HTTPURL(text) else { return nil }
        self.url = text
        isSecure = url.isSecure
        let written = url.origin.lowercased()
        let (scheme, defaultPort): (String, UInt16) = isSecure ? ("https://", 443) : ("http://", 80)
        let authority = written.utf8.dropFirst(scheme.utf8.count)
        if let colon = authority.lastIndex(of: UInt8(ascii: ":")),
            let port = UInt16(written[written.utf8.index(after: colon)...])
        {
            host = String(written[authority.startIndex..<colon])
            origin = port == defaultPort ? scheme + host : "\(scheme)\(host):\(port)"
        } else {
            host = String(written[authority.startIndex...])
            origin = written
        }
    }
}

/// The push services of the big browsers. Their responses have different formats.
package enum PushService: Sendable, Hashable {
    case apple
    case mozilla
    case google
    case windows
    /// Any other push service, such as a user's own or a UnifiedPush server.
    case other

    /// Recognizes a push service; `host` is in lower case.
    package init(host: String) {
        switch host {
        case "fcm.googleapis.com", "android.googleapis.com": self = .google
        case _ where host.hasSuffix(".push.apple.com"): self = .apple
        case _ where host.hasSuffix(".push.services.mozilla.com"): self = .mozilla
        case _ where host.hasSuffix(".notify.windows.com"): self = .windows
        default: self = .other
        }
    }

    /// The name of its operator, for the log.
    package var name: String {
        switch self {
        case .apple: "Apple"
        case .mozilla: "Mozilla"
        case .google: "Google"
        case .windows: "Microsoft"
        case .other: "a user's push service"
        }
    }

    /// Whether most subscriptions of a browser are at an origin, so that idle connections to it are worth keeping.
    package static func isBusy(_ origin: String) -> Bool {
        switch origin {
        case "https://web.push.apple.com", "https://updates.push.services.mozilla.com", "https://fcm.googleapis.com":
            true
        default: false
        }
    }
}

/// The keys of a registration.
package enum SubscriptionKeys {
    case absent
    case present(WebPushKeys)

    /// Throws if only one of the two keys is present, or a key is malformed.
    package init(_ registration: borrowing Registration) throws(PluginError) {
        switch (registration.field("p256dh"), registration.field("auth")) {
        case (nil, nil): self = .absent
        case (let point?, let secret?):
            do {
                self = .present(try WebPushKeys(p256dh: point.string, auth: secret.string))
            } catch {
                throw PluginError("p256dh, auth: \(error)")
            }
        case (_?, nil): throw PluginError("auth: required with p256dh")
        case (nil, _?): throw PluginError("p256dh: required with auth")
        }
    }
}
