import Nostr
import Registry
import Storage
import Units

/// Finds the new follows in contact lists (NIP-02), which name everybody each time.
struct Follows {
    private let registry: Registry
    private let feed: IndexFeed?
    private let trouble: FailureLog
    private let now: @Sendable () -> Timestamp
    /// Lists of this batch.
    private var fresh: [ContactList] = []
    /// Lists whose follows are on their way and which the disk has not taken yet.
    private var unwritten: [ContactList] = []

    /// `feed`: the accounts that this is about; nil: all.
    init(registry: Registry, feed: IndexFeed?, trouble: FailureLog, now: @escaping @Sendable () -> Timestamp) {
        self.registry = registry
        self.feed = feed
        self.trouble = trouble
        self.now = now
    }

    /// The accounts that `list` names and that its author did not follow before.
    mutating func new(in list: ContactList, seen: ContactListSighting) throws -> Set<PublicKey> {
        try catchUp()
        let ofAuthor = fresh.filter { $0.author == list.author }
        guard !ofAuthor.contains(where: { $0.createdAt > list.createdAt }) else { return [] }
        return Set(try registry.newFollows(list, seen: seen, of: feed)).subtracting(ofAuthor.flatMap(\.named))
    }

    /// The accounts in `list` count as followed once the batch is kept.
    mutating func add(_ list: ContactList) { fresh.append(list) }

    /// Writes what the disk did not take before; throws while it still does not.
    mutating func catchUp() throws {
        guard !unwritten.isEmpty else { return }
        try registry.remember(unwritten, of: feed)
        unwritten = []
    }

    /// The pushes of the batch are kept, or not; if so, its lists are remembered. False when the disk does not have
    /// them.
    mutating func conclude(isKept: Bool) -> Bool {
        defer { fresh = [] }
        guard isKept else { return true }
        unwritten += fresh
        do {
            try catchUp()
            return true
        } catch {
            // The pushes are on their way, so the sender must not try again. The next contact list does, and waits for
            // it.
            trouble.occurred(error, at: now())
            return false
        }
    }
}
