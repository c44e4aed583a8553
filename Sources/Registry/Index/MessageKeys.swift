import Core
import Nostr

/// The accounts that receive messages under keys other than their own, by key. Usually empty.
struct MessageKeyOwners: Sendable {
    /// The limit of owners per key, because each owner gets a notification. Any list may name any key. The first owners
    /// stay, so others cannot push them out.
    static let ownersPerKey = 256

    private struct Owner {
        var account: Bytes32
        var until: Timestamp
    }

    private var owners: [Bytes32: [Owner]] = [:]
    private var keys: [Bytes32: [Bytes32]] = [:]
    /// When the next former key expires.
    private var nextExpiry = Timestamp.distantFuture
    /// The shortest time between two reads of all keys, because any author can cause one.
    private static let pause: Duration = .minutes(10)
    private var pauseEnd = Timestamp.distantPast

    var isEmpty: Bool { owners.isEmpty }

    func contains(_ key: Bytes32) -> Bool { owners[key] != nil }

    func owns(_ account: Bytes32, _ key: Bytes32) -> Bool {
        owners[key]?.contains { $0.account == account } ?? false
    }

    func forEachOwner(of key: Bytes32, _ body: (Bytes32) -> Void) {
        for owner in owners[key] ?? [] { body(owner.account) }
    }

    /// Replaces the keys of an account. At keys that it already had, it keeps its place among the owners.
    mutating func set(_ messageKeys: [MessageKey], of account: Bytes32) -> (gained: [Bytes32], lost: [Bytes32]) {
        var gained: [Bytes32] = []
        var lost: [Bytes32] = []
        let wanted = messageKeys.filter { $0.key.bytes != account }
        for key in keys[account] ?? [] where !wanted.contains(where: { $0.key.bytes == key }) {
            owners[key]?.removeAll { $0.account == account }
            if owners[key]?.isEmpty == true {
                owners[key] = nil
                lost.append(key)
            }
        }
        keys[account] = wanted.isEmpty ? nil : wanted.map(\.key.bytes)
        for messageKey in wanted {
            let key = messageKey.key.bytes
            let until = messageKey.until ?? .distantFuture
            nextExpiry = min(nextExpiry, until)
            if let place = owners[key]?.firstIndex(where: { $0.account == account }) {
                owners[key]?[place].until = until
            } else if owners[key] == nil {
                owners[key] = [Owner(account: account, until: until)]
                gained.append(key)
            } else if (owners[key]?.count ?? 0) < Self.ownersPerKey {
                owners[key]?.append(Owner(account: account, until: until))
            }
        }
        return (gained, lost)
    }

    /// Whether it is time for ``expire(now:)``.
    func isExpiryDue(now: Timestamp) -> Bool { nextExpiry <= now && pauseEnd <= now }

    /// Removes keys that expired by `now`. Returns their accounts, and the keys that no account has any longer.
    mutating func expire(now: Timestamp) -> (accounts: [Bytes32], lost: [Bytes32]) {
        var accounts: Set<Bytes32> = []
        var lost: [Bytes32] = []
        nextExpiry = .distantFuture
        pauseEnd = now + Self.pause
        for (key, holders) in owners {
            let remaining = holders.filter { $0.until > now }
            nextExpiry = remaining.reduce(nextExpiry) { min($0, $1.until) }
            guard remaining.count < holders.count else { continue }
            for owner in holders where owner.until <= now {
                accounts.insert(owner.account)
                keys[owner.account]?.removeAll { $0 == key }
                if keys[owner.account]?.isEmpty == true { keys[owner.account] = nil }
            }
            owners[key] = remaining.isEmpty ? nil : remaining
            if remaining.isEmpty { lost.append(key) }
        }
        return (Array(accounts), lost)
    }
}

/// A key other than its own that an account receives gift wraps under (`dm_key` in its kind 10050).
package struct MessageKey: Hashable, Sendable {
    package var key: PublicKey
    /// Until when a former key counts; nil for a key of the newest list.
    package var until: Timestamp?
}

/// The keys that an account receives messages under, as its lists change.
struct MessageKeyRing {
    /// How long a former key counts after the list that removed it, because messages to it may be in flight.
    static let grace: Duration = .days(7)
    /// The maximum number of current keys, and of former ones.
    static let limit = 8

    private(set) var keys: [MessageKey]

    init(_ keys: [MessageKey]) {
        self.keys = keys
    }

    /// Takes the keys of a newer list, made at `time`.
    mutating func replace(with listed: [PublicKey], at time: Timestamp, now: Timestamp) {
        var current: [PublicKey] = []
        for key in listed where current.count < Self.limit && !current.contains(key) { current.append(key) }
        let former = keys.filter { !current.contains($0.key) }
            .map { MessageKey(key: $0.key, until: min($0.until ?? .distantFuture, time + Self.grace)) }
            .filter { $0.until ?? .epoch > now }
            .sorted { ($0.until ?? .epoch, $0.key.bytes) > ($1.until ?? .epoch, $1.key.bytes) }
        keys = current.map { MessageKey(key: $0) } + former.prefix(Self.limit)
    }
}
