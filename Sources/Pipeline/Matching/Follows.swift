import Nostr
import Registry
import Storage

/// Tells the follows in contact lists (NIP-02), which name everybody each time.
struct Follows {
    private let registry: Registry
    private let trouble: TroubleLog
    private let now: @Sendable () -> Int64
    /// Lists whose follows are on their way and which the disk has not taken yet.
    private var unremembered: [ContactList] = []

    /// `now` is in milliseconds since 1970.
    init(registry: Registry, trouble: TroubleLog, now: @escaping @Sendable () -> Int64) {
        self.registry = registry
        self.trouble = trouble
        self.now = now
    }

    /// Whom `list` names anew. `earlier` are lists that are taken for known when what they wake is kept.
    mutating func new(
        in list: ContactList,
        seen: ContactListSighting,
        earlier: [ContactList]
    ) throws -> Set<PublicKey> {
        try catchUp()
        let ofAuthor = earlier.filter { $0.author == list.author }
        guard !ofAuthor.contains(where: { $0.createdAt > list.createdAt }) else { return [] }
        return Set(try registry.newFollows(list, seen: seen)).subtracting(ofAuthor.flatMap(\.named))
    }

    /// Writes down what the disk did not take before; throws while it still does not.
    mutating func catchUp() throws {
        if !unremembered.isEmpty { try writeDown() }
    }

    /// Takes lists for known: what they wake is kept. Answers whether the disk has them.
    mutating func remember(_ lists: [ContactList]) -> Bool {
        unremembered += lists
        do {
            try catchUp()
            return true
        } catch {
            // What they wake is on its way, so a sender must not try again. The next contact list does, and waits for it.
            trouble.occurred(error, at: now())
            return false
        }
    }

    private mutating func writeDown() throws {
        try registry.remember(unremembered)
        unremembered = []
    }
}
