package import PluginKit
package import WebPushEncryption

/// The endpoint of one subscription. Its URL is secret.
package struct Endpoint: Sendable {
    package let url: String
    /// In the form of RFC 6454 section 6.1: lower case, no default port.
    package let origin: String
    /// In lower case, without port.
    package let host: String
    package let isSecure: Bool

    /// The push service that operates the endpoint.
    package var service: PushService { PushService(host: host) }

    /// Nil unless the token is an `https` or `http` URL of at most `limit` bytes.
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

/// The push services of the big browsers. Each has its own form of answers.
package enum PushService: Sendable, Hashable {
    case apple
    case mozilla
    case google
    case windows
    /// Any other push service, such as a user's own or a UnifiedPush server.
    case other

    /// `host` is in lower case.
    package init(host: String) {
        switch host {
        case "fcm.googleapis.com", "android.googleapis.com": self = .google
        case _ where host.hasSuffix(".push.apple.com"): self = .apple
        case _ where host.hasSuffix(".push.services.mozilla.com"): self = .mozilla
        case _ where host.hasSuffix(".notify.windows.com"): self = .windows
        default: self = .other
        }
    }

    /// Its operator, for the log.
    package var name: String {
        switch self {
        case .apple: "Apple"
        case .mozilla: "Mozilla"
        case .google: "Google"
        case .windows: "Microsoft"
        case .other: "a push service of a user's"
        }
    }

    /// Whether most subscriptions of a browser are at an origin, so that connections to it are worth keeping.
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

    /// Throws when only one of the two keys is there, or a key is malformed.
    package init(_ registration: borrowing Registration) throws(PluginError) {
        switch (registration.field("p256dh"), registration.field("auth")) {
        case (nil, nil): self = .absent
        case (let point?, let secret?):
            do {
                self = .present(try WebPushKeys(p256dh: point.string, auth: secret.string))
            } catch {
                throw PluginError("p256dh, auth: \(error)")
            }
        case (_?, nil): throw PluginError("auth: expected it beside p256dh, found nothing")
        case (nil, _?): throw PluginError("p256dh: expected it beside auth, found nothing")
        }
    }
}
