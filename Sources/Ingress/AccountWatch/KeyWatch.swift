import Nostr
import Registry
import RelayPool

/// How a key is watched at a relay, on behalf of one owner or of several together.
///
/// A key may have several owners, since anybody can list any key as their own for messages. A relay is asked for what
/// all owners want together, so that no owner can end the watch of another.
struct KeyWatch: Hashable, Sendable {
    var interest: WatchInterest
    var since: Int64
    var isEstablished: Bool

    init(_ row: WatchRow) {
        interest = WatchInterest(rawValue: row.interest)
        since = row.since
        isEstablished = row.isEstablished
    }

    /// What `rows` have watched together; nil when there are none.
    init?(_ rows: some Collection<WatchRow>) {
        guard let first = rows.first else { return nil }
        self = rows.dropFirst().reduce(KeyWatch(first)) { $0.joined(by: KeyWatch($1)) }
    }

    /// Both together. The result is established if the established ones cover all that both ask for.
    func joined(by other: KeyWatch?) -> KeyWatch {
        guard let other else { return self }
        var joined = self
        joined.interest.formUnion(other.interest)
        switch (interest.contains(.addressed), other.interest.contains(.addressed)) {
        case (true, false): break
        case (false, true): joined.since = other.since
        default: joined.since = min(since, other.since)
        }
        let established = [self, other].reduce(into: Watched.Interest()) { read, watch in
            if watch.isEstablished { read.formUnion(watch.interest.watched) }
        }
        joined.isEstablished = established == joined.interest.watched
        return joined
    }

    /// The same for a relay; nil when there is nothing to watch.
    func watched(_ key: PublicKey) -> Watched? {
        let interest = interest.watched
        guard !interest.isEmpty else { return nil }
        return Watched(key: key, interest: interest, since: since, isEstablished: isEstablished)
    }
}

/// What somebody watches of a key, and whether partners stand in for a part of it.
struct WatchInterest: OptionSet, Hashable, Sendable {
    let rawValue: UInt8

    static let addressed = WatchInterest(rawValue: 1)
    static let authored = WatchInterest(rawValue: 2)
    /// Would be ``addressed``, but partners' hints stand in for that.
    static let leftToPartners = WatchInterest(rawValue: 4)

    /// Every combination that relays are asked for.
    static let asked: [WatchInterest] = [
        .addressed, [.addressed, .authored], .authored, [.authored, .leftToPartners],
    ]

    /// What relays are asked for.
    var watched: Watched.Interest {
        var watched: Watched.Interest = []
        if contains(.addressed) { watched.insert(.addressed) }
        if contains(.authored) { watched.insert(.authored) }
        return watched
    }
}

/// How owners other than one, or all, watch keys.
struct OtherOwners {
    private let owner: PublicKey?
    private let rows: RegistryRows
    /// Whether any owner watches a key that is not its own.
    private let exist: Bool
    private var shared: [PublicKey: Bool] = [:]

    init(besides owner: PublicKey?, _ rows: RegistryRows, exist: Bool) {
        self.owner = owner
        self.rows = rows
        self.exist = exist
    }

    /// How the others watch `key` at a relay; nil if they do not.
    mutating func watch(of key: PublicKey, at relay: RelayNumber) throws -> KeyWatch? {
        if key == owner, !exist { return nil }
        let isShared = try shared[key] ?? rows.isWatched(key, notOnlyBy: owner)
        shared[key] = isShared
        guard isShared else { return nil }
        // One row of each kind is enough: owners with the same interest began at the same moment.
        var found = key == owner ? [] : [try rows.ownWatch(of: key, at: relay)].compactMap { $0 }
        for interest in WatchInterest.asked {
            if let row = try rows.watch(of: key, at: relay, notBy: owner, interest: interest.rawValue) {
                found.append(row)
            }
        }
        return KeyWatch(found)
    }
}
