/// The push services of the big browsers, each of which answers in a form of its own.
package enum PushService: Sendable, Hashable {
    case apple
    case mozilla
    case google
    case windows
    /// Anybody's: a push service that a user set up, or a UnifiedPush server.
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

    /// Who runs it, for the log.
    package var name: String {
        switch self {
        case .apple: "Apple"
        case .mozilla: "Mozilla"
        case .google: "Google"
        case .windows: "Microsoft"
        case .other: "a push service of a user's"
        }
    }

    /// Whether most subscriptions of a browser are at that origin, so that it is worth keeping connections to it.
    package static func isBusy(_ origin: String) -> Bool {
        switch origin {
        case "https://web.push.apple.com", "https://updates.push.services.mozilla.com", "https://fcm.googleapis.com":
            true
        default: false
        }
    }
}
