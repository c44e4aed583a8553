import Nostr

/// Whom those accounts follow that were asked about lately; also that nothing is known of some. Bounded by what it holds, since
/// lists differ in length.
///
/// Two halves: what is found in the older one moves to the younger, and when that is full the older one is forgotten.
struct FollowedCache {
    /// What an entry takes besides its hashes, in their number.
    private static let overhead = 16

    private let halfRoom: Int
    private var younger: [PublicKey: FollowedKeys?] = [:]
    private var older: [PublicKey: FollowedKeys?] = [:]
    /// What the younger half holds, in hashes.
    private var held = 0
    /// Counts the times at which something was forgotten because it changed.
    private(set) var generation: UInt64 = 0

    /// `room` is how many hashes it has place for; each account takes sixteen besides its own.
    init(room: Int) {
        halfRoom = room / 2
    }

    /// Of how many accounts something is remembered.
    var count: Int { younger.count + older.count }

    /// Nil: not remembered. The inner nil: nothing is known of that account.
    mutating func followed(by account: PublicKey) -> FollowedKeys?? {
        if let known = younger[account] { return known }
        guard let known = older.removeValue(forKey: account) else { return nil }
        insert(known, of: account)
        return known
    }

    /// Takes what was read, unless something changed since that `generation`: then it may be outdated already.
    mutating func remember(_ followed: FollowedKeys?, of account: PublicKey, readIn generation: UInt64) {
        guard generation == self.generation else { return }
        older[account] = nil
        insert(followed, of: account)
    }

    private mutating func insert(_ followed: FollowedKeys?, of account: PublicKey) {
        if held >= halfRoom {
            older = younger
            younger = [:]
            held = 0
        }
        guard younger.updateValue(followed, forKey: account) == nil else { return }
        held += Self.overhead + (followed?.count ?? 0)
    }

    mutating func forget(_ accounts: some Sequence<PublicKey>) {
        generation &+= 1
        for account in accounts {
            if let known = younger.removeValue(forKey: account) { held -= Self.overhead + (known?.count ?? 0) }
            older[account] = nil
        }
    }

    mutating func forgetAll() {
        generation &+= 1
        younger = [:]
        older = [:]
        held = 0
    }
}
