import Nostr

/// Events that their authors took back, as far as that is remembered: bounded, and in memory.
struct Deletions {
    private struct Entry: Hashable {
        let event: EventID
        let author: PublicKey
    }

    private var entries = GenerationalSet<Entry>(capacity: 50_000)

    mutating func insert(_ deletion: Deletion) {
        for event in deletion.ids { entries.insert(Entry(event: event, author: deletion.author)) }
    }

    /// Whether the author of an event deleted it.
    func contains(_ event: Event) -> Bool { entries.contains(Entry(event: event.id, author: event.pubkey)) }
}
