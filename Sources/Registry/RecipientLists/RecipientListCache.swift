import Nostr

/// The lists of those accounts that were asked about lately; also that some have none. Bounded by the bytes it holds.
///
/// Two halves: what is found in the older one moves to the younger, and when that is full the older one is forgotten.
struct RecipientListCache {
    struct Key: Hashable {
        let account: PublicKey
        let kind: Kind
    }

    /// What an entry takes besides its list, in bytes.
    private static let overhead = 128

    private let halfRoom: Int
    private var younger: [Key: RecipientList?] = [:]
    private var older: [Key: RecipientList?] = [:]
    /// All that anything was ever remembered of: a few.
    private var kinds: Set<Kind> = []
    /// What the younger half holds, in bytes.
    private var held = 0
    /// Counts the times at which something was forgotten because it changed.
    private(set) var generation: UInt64 = 0

    /// `room` is how many bytes it has place for.
    init(room: Int) {
        halfRoom = room / 2
    }

    var count: Int { younger.count + older.count }

    /// Nil: not remembered. The inner nil: there is none.
    mutating func list(_ key: Key) -> RecipientList?? {
        if let known = younger[key] { return known }
        guard let known = older.removeValue(forKey: key) else { return nil }
        insert(known, key)
        return known
    }

    /// Takes what was read, unless something changed since that `generation`: then it may be outdated already.
    mutating func remember(_ list: RecipientList?, _ key: Key, readIn generation: UInt64) {
        guard generation == self.generation else { return }
        older[key] = nil
        insert(list, key)
    }

    private mutating func insert(_ list: RecipientList?, _ key: Key) {
        kinds.insert(key.kind)
        if held >= halfRoom {
            older = younger
            younger = [:]
            held = 0
        }
        guard younger.updateValue(list, forKey: key) == nil else { return }
        held += Self.overhead + (list?.json.count ?? 0)
    }

    mutating func forget(_ keys: some Sequence<Key>) {
        generation &+= 1
        for key in keys {
            if let known = younger.removeValue(forKey: key) { held -= Self.overhead + (known?.json.count ?? 0) }
            older[key] = nil
        }
    }

    /// All lists of these accounts.
    mutating func forget(accounts: some Sequence<PublicKey>) {
        forget(accounts.flatMap { account in kinds.map { Key(account: account, kind: $0) } })
    }

    mutating func forgetAll() {
        generation &+= 1
        younger = [:]
        older = [:]
        held = 0
    }
}
