import Nostr

/// What a relay means when it refuses a subscription or an event (NIP-01, NIP-42).
enum Refusal: Hashable, Sendable {
    /// It wants to know who we are first.
    case authenticate
    /// It is asked too much at a time.
    case slower
    /// More subscriptions are open than it allows.
    case tooManySubscriptions
    /// The message or filter is too large, or not understood.
    case smaller
    /// It will not, and asking again soon is of no use.
    case never
    /// Something went wrong, perhaps only now.
    case later

    init(_ message: String) {
        let text = message.prefix(200).lowercased()
        let speaksOfSubscriptions = ["req", "subscription", "subs"].contains { text.contains($0) }
        if text.contains("too many"), speaksOfSubscriptions, !text.contains("too many requests") {
            self = .tooManySubscriptions
            return
        }
        if text.contains("too many requests") {
            self = .slower
            return
        }
        switch MachineReadablePrefix(of: message) {
        case .authRequired: self = .authenticate
        case .rateLimited: self = .slower
        case .restricted, .blocked, .mute, .pow: self = .never
        case .unsupported, .invalid: self = .smaller
        case .error, .duplicate, nil:
            let isSize = ["too large", "too big", "too long", "too many"].contains { text.contains($0) }
            self = isSize ? .smaller : .later
        }
    }

    /// What a `NOTICE` may mean, which is for people (NIP-01) but the only word some relays have. Nil: nothing to us.
    init?(notice: String) {
        let text = notice.prefix(200).lowercased()
        let refusal = Refusal(notice)
        if refusal == .tooManySubscriptions {
            self = refusal
        } else if ["rate-limit", "rate limit", "ratelimit", "slow down", "too fast", "too many requests"].contains(
            where: { text.contains($0) }
        ) {
            self = .slower
        } else {
            return nil
        }
    }
}
