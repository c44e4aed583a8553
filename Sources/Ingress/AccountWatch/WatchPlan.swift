import Nostr
import Registry
import RelayPool
import Units

/// How the rows of one owner become what its target asks for, and what to tell relays.
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
    /// Relays that are read again for a key that was left to partners, each with the moment to read from, in seconds
    /// since 1970.
    private(set) var resumed: [RelayNumber: Int64] = [:]
    /// The change of the number of rows with a key that is not the owner's.
    private(set) var claims = 0

    /// `known` are the owner's rows; `target` is nil when nothing is to be watched on its behalf any more. `others`
    /// says what other owners have watched of a key at a relay, and `wasRead` whether a relay was read for a place by
    /// another process. With `relaysKnow` relays know of `known` and receive
    /// only what changes; without it they receive everything.
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

    /// A key that another owner already watches there continues from where that is.
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
                // Events that name the key were not read so far.
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
