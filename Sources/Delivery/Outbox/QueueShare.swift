import Notifications

/// What waits in the outbox for one push service, and how much more may: so that none of them, and nobody's server, has all of it.
///
/// A queue has its share of the outbox, and a host that users chose a share of that. From as much on as one host may have, a
/// device has one delivery at a time, so that many names for one server do not make many shares. Pure: knows no lock and no log.
struct QueueShare: Sendable {
    enum Verdict: Equatable, Sendable {
        case taken
        /// Has to wait.
        case refused
        /// Depends on the host that the device is at: ask again with it.
        case dependsOnHost
    }

    private struct Place: Sendable {
        var count = 0
        /// Nil: nobody looked yet, or it has none.
        var host: String?
    }

    /// One part in so many of the outbox is a queue's.
    private static let partsOfOutbox = 4
    /// One part in so many of a queue's share is a host's.
    private static let partsOfShare = 4

    /// How much may wait.
    let limit: Int
    /// How much may wait for one host, and from how much on a device has one delivery at a time.
    let hostLimit: Int
    /// What waits.
    private(set) var count = 0
    private var places: [DeviceID: Place] = [:]
    private var hosts: [String: Int] = [:]
    /// What was taken and is not in the outbox yet.
    private var taken = 0
    /// By whom, as far as that matters, and at which hosts.
    private var takers: [DeviceID: String?] = [:]
    private var takenTowards: [String: Int] = [:]
    private var isFull = false
    private var fullHosts: Set<String> = []

    /// A share in an outbox for `outbox` deliveries.
    init(of outbox: Int) {
        limit = max(1, outbox / Self.partsOfOutbox)
        hostLimit = max(1, limit / Self.partsOfShare)
    }

    /// Whether anything had to wait because the share, or a host's, was used up, and much of that waits still.
    var isBehind: Bool { isFull || !fullHosts.isEmpty }

    /// How much more may come from somebody who can be asked to come again: up to half, so that there is room for the others.
    var roomForCallers: Int { max(0, max(1, limit / 2) - count) }

    /// One more for a device, if that can be told without its host.
    mutating func take(_ device: DeviceID) -> Verdict {
        guard count + taken >= hostLimit else {
            taken += 1
            return .taken
        }
        guard count + taken < limit else {
            isFull = true
            return .refused
        }
        guard places[device] == nil, takers[device] == nil else {
            if let host = places[device]?.host, hosts[host, default: 0] >= hostLimit { fullHosts.insert(host) }
            return .refused
        }
        return .dependsOnHost
    }

    /// One more for a device at `host`; nil: at none of users' choice.
    mutating func take(_ device: DeviceID, at host: String?) -> Verdict {
        let verdict = take(device)
        guard verdict == .dependsOnHost else { return verdict }
        if let host {
            guard hosts[host, default: 0] + takenTowards[host, default: 0] < hostLimit else {
                fullHosts.insert(host)
                return .refused
            }
            takenTowards[host, default: 0] += 1
        }
        takers[device] = .some(host)
        taken += 1
        return .taken
    }

    /// What was taken is in by now, or will not be.
    mutating func settle() {
        guard taken > 0 else { return }
        taken = 0
        takers.removeAll(keepingCapacity: true)
        takenTowards.removeAll(keepingCapacity: true)
    }

    /// Deliveries for a device are in the outbox.
    mutating func add(_ added: Int = 1, for device: DeviceID) {
        count += added
        var place = places[device] ?? Place(host: takers[device] ?? nil)
        place.count += added
        places[device] = place
        if let host = place.host { hosts[host, default: 0] += added }
    }

    /// A delivery for a device left the outbox.
    mutating func remove(for device: DeviceID) {
        guard var place = places[device] else { return }
        count -= 1
        place.count -= 1
        places[device] = place.count > 0 ? place : nil
        if let host = place.host { leave(host, 1) }
        if isFull, count <= limit / 2 { isFull = false }
    }

    /// Where a device is: what waits for it goes there.
    mutating func locate(_ device: DeviceID, at host: String) {
        guard var place = places[device], place.host != host else { return }
        if let former = place.host { leave(former, place.count) }
        place.host = host
        places[device] = place
        hosts[host, default: 0] += place.count
    }

    private mutating func leave(_ host: String, _ number: Int) {
        let left = hosts[host, default: 0] - number
        hosts[host] = left > 0 ? left : nil
        if left <= hostLimit / 2 { fullHosts.remove(host) }
    }
}
