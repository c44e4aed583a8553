import Nostr
import Notifications

extension EventConcern {
    /// What `event`, which names `account` in a `p` tag, is to that account; ``EventReading`` says more.
    package static func classify(
        _ event: Event,
        for account: PublicKey,
        authors: (EventID) -> [PublicKey]? = { _ in nil }
    ) throws(NoConcern) -> EventConcern {
        try EventReading(event).concern(for: account, authors: authors)
    }
}
