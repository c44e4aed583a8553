import Core
import Nostr
import Registry

/// The changes that bring the rows of one owner in line with its target, and the changes to send to relays.
struct WatchPlan {
    /// A change at one relay.
    struct Step: Hashable {
        var relay: RelayNumber
        var change: WatchChange
    }

    private struct Spot: Hashable {
        var key: PublicKey
        var relay: RelayNumber

        init(_ key: PublicKey, _ relay: RelayNumber) {
            self.key = key
            self.relay = relay
        }
    }

    /// A hint is stored if it is this much later than the stored one. Only a restart reads it.
    private static let hintGranularity: Duration = .minutes(10)

    private(set) var put: [WatchRow] = []
    private(set) var removed: [WatchRow] = []
    private(set) var steps: [Step] = []
    /// The change of each relay's number of rows.
    private(set) var balance: [RelayNumber: Int] = [:]
    /// Relays that must be read again for a key that was left to partners, each with the moment to read from, in
    /// seconds since 1970.
    private(set) var resumed: [RelayNumber: Int64] = [:]
    /// The change of the number of rows whose key is not the owner's.
    private(set) var claims = 0

    /// `known` are the owner's rows; `target` is nil if its watches end. `others` returns how other owners watch a key
    /// at a relay, and `wasRead` whether another process read a relay for a place. With `relaysKnow` the relays already
    /// have `known` and receive only changes; otherwise they receive everything.
    init(
        from known: [WatchRow],
        to target: WatchTarget?,
        always: [RelayNumber],
        relaysKnow: Bool,
        others: (PublicKey, RelayNumber) throws -> KeyWatch?,
        wasRead: (WatchPlace) throws -> Bool = { _ in false }
    ) rethrows {
        var rest = Dictionary(known.map { (Spot($0.key, $0.relay), $0) }) { first, _ in first }
        for place in target?.places(always: always) ?? [] {
            let row = rest.removeValue(forKey: Spot(place.key, place.relay))
            let other =
                relaysKnow && row?.interest == place.interest.rawValue ? nil : try others(place.key, place.relay)
            let wasRead = try row == nil && wasRead(place)
            if let target {
                add(place, of: target, replacing: row, relaysKnow: relaysKnow, beside: other, wasRead: wasRead)
            }
        }
        // In the order of `known`, so that a plan is reproducible.
        for row in known where rest[Spot(row.key, row.relay)] != nil {
            removed.append(row)
            count(row, by: -1)
            guard relaysKnow else { continue }
            let other = try others(row.key, row.relay)
            tell(row.key, row.relay, from: KeyWatch(row).joined(by: other), to: other)
        }
    }

    var isEmpty: Bool { put.isEmpty && removed.isEmpty && steps.isEmpty }

    /// Whether rows already match a target.
    static func holds(_ known: [WatchRow], _ places: [WatchPlace]) -> Bool {
        guard known.count == places.count else { return false }
        if known.count > 8 {
            let rows = Set(known.map { WatchPlace($0) })
            return places.allSatisfy(rows.contains)
        }
        return places.allSatisfy { place in known.contains { WatchPlace($0) == place } }
    }

    private mutating func add(
        _ place: WatchPlace,
        of target: WatchTarget,
        replacing row: WatchRow?,
        relaysKnow: Bool,
        beside other: KeyWatch?,
        wasRead: Bool
    ) {
        var next = row.map { Self.row($0, becoming: place, of: target) } ?? Self.row(place, of: target, beside: other)
        if wasRead { next.isEstablished = true }
        if row == nil { count(next, by: 1) }
        if next != row { put.append(next) }
        if let row, next.isEstablished, WatchInterest(rawValue: row.interest).contains(.leftToPartners),
            place.interest.contains(.addressed)
        {
            resumed[next.relay] = min(next.since, resumed[next.relay] ?? next.since)
        }
        let former = relaysKnow ? row.map { KeyWatch($0).joined(by: other) } ?? other : nil
        tell(place.key, place.relay, from: former, to: KeyWatch(next).joined(by: other))
    }

    private mutating func count(_ row: WatchRow, by difference: Int) {
        balance[row.relay, default: 0] += difference
        if row.key != row.owner { claims += difference }
    }

    /// A key that another owner already watches there continues at that owner's position.
    private static func row(_ place: WatchPlace, of target: WatchTarget, beside other: KeyWatch?) -> WatchRow {
        let covers = other.map { $0.interest.watched.isSuperset(of: place.interest.watched) } ?? false
        return WatchRow(
            owner: target.owner,
            key: place.key,
            relay: place.relay,
            interest: place.interest.rawValue,
            since: covers ? other?.since ?? target.begin : target.begin,
            isEstablished: covers ? other?.isEstablished ?? false : false
        )
    }

    private static func row(_ row: WatchRow, becoming place: WatchPlace, of target: WatchTarget) -> WatchRow {
        var next = row
        let former = WatchInterest(rawValue: row.interest)
        next.interest = place.interest.rawValue
        if place.interest.contains(.addressed), !former.contains(.addressed) {
            if former.contains(.leftToPartners) {
                next.since = max(row.since, target.lastHint ?? row.since)
            } else {
                // Events that name the key were not read before.
                next.since = target.begin
                next.isEstablished = false
            }
        } else if place.interest.contains(.leftToPartners), let lastHint = target.lastHint,
            !former.contains(.leftToPartners) || lastHint - row.since >= Self.hintGranularity.seconds
        {
            next.since = max(row.since, lastHint)
        }
        return next
    }

    private mutating func tell(_ key: PublicKey, _ relay: RelayNumber, from former: KeyWatch?, to next: KeyWatch?) {
        guard former?.interest.watched ?? [] != next?.interest.watched ?? [] else { return }
        let change = next?.watched(key).map(WatchChange.put) ?? .remove(key)
        steps.append(Step(relay: relay, change: change))
    }
}

/// The watches for an account or a root of interest.
///
/// An account's own key and its keys for messages are watched at its own relays and at the operator's. The lists of
/// roots of interest are watched at the operator's relays, and the lists of an account's partners at the account's
/// relays.
struct WatchTarget: Hashable, Sendable {
    var owner: PublicKey
    /// The events of the owner's own key to watch.
    var interest: WatchInterest
    /// Other keys under which it receives messages.
    var messageKeys: [PublicKey] = []
    /// Partners, whose lists name the devices that may send hints.
    var partners: [PublicKey] = []
    /// The owner's own relays, without the operator's.
    var relays: [RelayNumber] = []
    /// At relays where it was not watched yet, only events from this moment on count, in seconds since 1970.
    var begin: Int64
    /// When a partner last sent a hint for it, in seconds since 1970.
    var lastHint: Int64?
    /// Whether hints from partners replace direct subscriptions.
    var isLeftToPartners = false

    /// Returns the keys and relays to watch, each pair once.
    func places(always: [RelayNumber]) -> [WatchPlace] {
        var places: [WatchPlace] = []
        let everywhere = always + relays
        places.reserveCapacity(everywhere.count * (1 + messageKeys.count))
        let waiting: WatchInterest = isLeftToPartners ? .leftToPartners : .addressed
        let own = interest.contains(.addressed) ? interest.subtracting(.addressed).union(waiting) : interest
        for relay in everywhere { places.append(WatchPlace(key: owner, relay: relay, interest: own)) }
        for key in messageKeys {
            for relay in everywhere { places.append(WatchPlace(key: key, relay: relay, interest: waiting)) }
        }
        for partner in partners {
            // At the operator's relays, partners are already watched as roots of interest.
            for relay in relays { places.append(WatchPlace(key: partner, relay: relay, interest: .authored)) }
        }
        return messageKeys.isEmpty && partners.isEmpty ? places : Self.merged(places)
    }

    private static func merged(_ places: [WatchPlace]) -> [WatchPlace] {
        var merged: [WatchPlace] = []
        var position: [WatchPlace: Int] = [:]
        for var place in places {
            let interest = place.interest
            place.interest = []
            if let known = position[place] {
                merged[known].interest.formUnion(interest)
            } else {
                position[place] = merged.count
                place.interest = interest
                merged.append(place)
            }
        }
        return merged
    }
}

/// One key at one relay.
struct WatchPlace: Hashable, Sendable {
    var key: PublicKey
    var relay: RelayNumber
    var interest: WatchInterest

    init(key: PublicKey, relay: RelayNumber, interest: WatchInterest) {
        self.key = key
        self.relay = relay
        self.interest = interest
    }

    init(_ row: WatchRow) {
        self.init(key: row.key, relay: row.relay, interest: WatchInterest(rawValue: row.interest))
    }
}

/// How a key is watched at a relay, for one owner or for several together.
///
/// A key may have several owners, because any account can list any key as its own for messages. A relay is asked for
/// the union of all owners' interests, so that no owner can end the watch of another.
struct KeyWatch: Hashable, Sendable {
    var interest: WatchInterest
    var since: Int64
    var isEstablished: Bool

    init(_ row: WatchRow) {
        interest = WatchInterest(rawValue: row.interest)
        since = row.since
        isEstablished = row.isEstablished
    }

    /// The union of `rows`; nil if there are none.
    init?(_ rows: some Collection<WatchRow>) {
        guard let first = rows.first else { return nil }
        self = rows.dropFirst().reduce(KeyWatch(first)) { $0.joined(by: KeyWatch($1)) }
    }

    /// Returns the union. It is established if the established parts cover all of its interests.
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

    /// Returns the watch for a relay; nil if it has no interests.
    func watched(_ key: PublicKey) -> Watched? {
        let interest = interest.watched
        guard !interest.isEmpty else { return nil }
        return Watched(key: key, interest: interest, since: since, isEstablished: isEstablished)
    }
}

/// The events of a key that accounts watch, and which of them partners' hints replace.
struct WatchInterest: OptionSet, Hashable, Sendable {
    let rawValue: UInt8

    static let addressed = WatchInterest(rawValue: 1)
    static let authored = WatchInterest(rawValue: 2)
    /// Like ``addressed``, but partners' hints replace the subscription.
    static let leftToPartners = WatchInterest(rawValue: 4)

    /// Every combination that relays are asked for.
    static let asked: [WatchInterest] = [
        .addressed, [.addressed, .authored], .authored, [.authored, .leftToPartners],
    ]

    /// The interest that relays are asked for.
    var watched: Watched.Interest {
        var watched: Watched.Interest = []
        if contains(.addressed) { watched.insert(.addressed) }
        if contains(.authored) { watched.insert(.authored) }
        return watched
    }
}

/// The watches of other owners, or of all owners.
struct OtherOwners {
    private let owner: PublicKey?
    private let rows: RegistryRows
    /// Whether any owner watches a key of another owner.
    private let exist: Bool
    private var shared: [PublicKey: Bool] = [:]

    init(besides owner: PublicKey?, _ rows: RegistryRows, exist: Bool) {
        self.owner = owner
        self.rows = rows
        self.exist = exist
    }

    /// Returns how the others watch `key` at a relay; nil if they do not.
    mutating func watch(of key: PublicKey, at relay: RelayNumber) throws -> KeyWatch? {
        if key == owner, !exist { return nil }
        let isShared = try shared[key] ?? rows.isWatched(key, notOnlyBy: owner)
        shared[key] = isShared
        guard isShared else { return nil }
        // One row of each kind is enough: owners with the same interest started at the same moment.
        var found = key == owner ? [] : [try rows.ownWatch(of: key, at: relay)].compactMap { $0 }
        for interest in WatchInterest.asked {
            if let row = try rows.watch(of: key, at: relay, notBy: owner, interest: interest.rawValue) {
                found.append(row)
            }
        }
        return KeyWatch(found)
    }
}
