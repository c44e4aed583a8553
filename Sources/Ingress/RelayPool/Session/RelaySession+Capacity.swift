import Nostr

extension RelaySession {
    /// Learns from a refusal how much the relay allows to be open. Returns what the refusal means.
    mutating func learn(
        from refusal: Refusal,
        of entry: OpenSubscriptions.Entry,
        _ id: SubscriptionID,
        now: Int64
    ) -> Refusal {
        let isRefused = isUnanswered(entry.use, id)
        let others = subscriptions.before(isRefused ? entry.number : .max)
        // Between what is open and that with what was refused: more than half of it where little else is open.
        let bytes = max(others.bytes, (others.bytes + entry.bytes) / 2)
        switch refusal {
        case .tooManySubscriptions:
            capacity.learn(subscriptions: others.count)
        case .tooLargeSubscriptions:
            capacity.learn(bytes: bytes)
        case .slower, .later:
            guard isRefused, hasOpenChunk, refusals.refused(entry.number, last: serial) else {
                if refusal == .slower { pace.slowDown(at: now) }
                return refusal
            }
            refusals = RefusalRow()
            pace.resume(at: now)
            capacity.guess(subscriptions: others.count, bytes: bytes, until: now + settings.guessLifetime)
            fitCapacity(now: now)
            return .tooLargeSubscriptions
        case .authenticate, .smaller, .never:
            return refusal
        }
        fitCapacity(now: now)
        return refusal
    }

    /// Whether the relay had not accepted a subscription yet.
    private func isUnanswered(_ use: SubscriptionUse, _ id: SubscriptionID) -> Bool {
        switch use {
        case .live(let name): live[name]?.pending == id
        case .retired: false
        case .sweep, .fetch: true
        }
    }

    private var hasOpenChunk: Bool {
        !retired.isEmpty
            || live.contains { name, subscription in
                if case .chunk = name { subscription.open != nil } else { false }
            }
    }

    mutating func noticed(_ text: String, now: Int64) {
        switch Refusal(notice: text) {
        case .slower:
            pace.slowDown(at: now)
        case .tooManySubscriptions:
            capacity.learn(subscriptions: subscriptions.count - 1)
            fitCapacity(now: now)
        case .tooLargeSubscriptions:
            let others = subscriptions.before(serial)
            capacity.learn(bytes: max(others.bytes, subscriptions.bytes / 2))
            fitCapacity(now: now)
        default: break
        }
    }

    /// Gives up what was only guessed of the relay, when it is time.
    mutating func forgetGuesses(_ now: Int64) {
        if capacity.forget(now: now) { chooseMode(now: now) }
        if let moment = capacity.forgetAt { wake(at: moment) }
    }
}
