import Nostr
import RelayPool
import Units

/// Sees to it that every relay that is to have the advertisement gets it. Knows no relay and no clock.
///
/// A relay that does not answer is asked again after a minute, and after twice as long each time, up to an hour. A
/// relay that refuses is asked again after an hour.
struct AdvertisementSchedule {
    private struct Attempt {
        /// Nil while one is under way.
        var at: Timestamp?
        /// How long to wait when nobody answers.
        var pause: Duration
    }

    private static let shortestPause: Duration = .minutes(1)
    private static let longestPause: Duration = .hours(1)

    private let relays: [RelayURL]
    /// Those that others publish at.
    private var elsewhere: Set<RelayURL> = []
    private var lacking: [RelayURL: Attempt] = [:]
    private(set) var event: Event?

    init(relays: [RelayURL]) {
        self.relays = relays
    }

    /// When to ask ``due(at:)`` again; nil: not before an answer comes.
    var nextAttempt: Timestamp? { lacking.filter { !elsewhere.contains($0.key) }.values.compactMap(\.at).min() }

    /// Leaves the relays to others that `isHere` denies. What one lacks it gets once it is here.
    mutating func limit(to isHere: (RelayURL) -> Bool) { elsewhere = Set(relays.filter { !isHere($0) }) }

    /// Replaces what is advertised: each relay is to get it anew.
    mutating func advertise(_ event: Event, now: Timestamp) {
        self.event = event
        for relay in relays { lacking[relay] = Attempt(at: now, pause: Self.shortestPause) }
    }

    /// The relays to publish at by now.
    mutating func due(at now: Timestamp) -> [RelayURL] {
        let due = relays.filter { relay in
            !elsewhere.contains(relay) && lacking[relay]?.at.map { $0 <= now } ?? false
        }
        for relay in due { lacking[relay]?.at = nil }
        return due
    }

    /// Takes what became of `event` at `attempted`. Returns those that do not have it; what a newer advertisement
    /// overtook no longer counts.
    mutating func answered(
        _ event: Event,
        at attempted: [RelayURL],
        _ results: [RelayURL: PublishResult],
        now: Timestamp
    ) -> [RelayURL] {
        guard event == self.event else { return [] }
        return attempted.filter { relay in
            guard let attempt = lacking[relay] else { return false }
            switch results[relay] ?? .unanswered {
            case .accepted:
                lacking[relay] = nil
                return false
            case .refused:
                lacking[relay]?.at = now + Self.longestPause
            case .unanswered:
                lacking[relay] = Attempt(at: now + attempt.pause, pause: min(attempt.pause * 2, Self.longestPause))
            }
            return true
        }
    }
}
