import Delivery
import Nostr
import Notifications
import Registry

/// The pacer with the operator's policy and the disk. Without a disk nobody is paced.
struct Pacing {
    /// How many devices are woken in one batch because their time has come.
    static let releasesPerBatch = 2000
    /// For how long nothing that is due is tried after the disk refused, in milliseconds.
    static let pauseAfterRefusal: Int64 = 1000
    /// How long to go without a look at the clock while anybody waits, in milliseconds: it may jump.
    static let longestSleep: Int64 = 15_000

    private(set) var policy: PacingPolicy?
    private let store: (any PaceStore)?
    private let room: (any DeliveryRoom)?
    var pacer = Pacer()
    var matches = HeldMatches()
    /// What the only members of new groups say, and the latest ones where only those count, until the disk has it.
    private var unkept: [HeldKey: HeldNotification] = [:]

    init(policy: PacingPolicy?, store: (any PaceStore)?, room: (any DeliveryRoom)? = nil) {
        self.policy = store == nil ? nil : policy
        self.store = store
        self.room = room
    }

    /// How a device of `platform` is to be woken; nil: whenever there is something.
    func pace(of device: DeviceID, on platform: String, in index: borrowing MatchIndex) -> Pace? {
        Self.pace(of: device, on: platform, in: index, by: policy)
    }

    static func pace(
        of device: DeviceID,
        on platform: String,
        in index: borrowing MatchIndex,
        by policy: PacingPolicy?
    ) -> Pace? {
        guard let policy else { return nil }
        let pace = policy.pace(for: index.wishes(of: device).pace, on: platform)
        return pace.isUnlimited ? nil : pace
    }

    /// Where there is room for deliveries. What cannot be held needs none.
    var outbox: PacedRoom { PacedRoom(room: policy == nil ? nil : room) }

    /// Takes up what the disk knows. What is of devices that are registered no more is forgotten.
    mutating func load(_ index: borrowing MatchIndex, at now: Int64) throws {
        guard let store, policy != nil else { return }
        var paces: [DeviceID: DevicePace] = [:]
        try store.loadPaces(at: now) { row in
            paces[row.device] = DevicePace(row)
        } held: { row in
            guard let group = HeldGroup(row) else { return }
            paces[row.key.device, default: DevicePace()].groups.append(group)
        }
        for (device, pace) in paces {
            pacer.restore(pace, of: device)
            for group in pace.groups { matches.add(group.event, of: device, in: group, isSaid: group.count == 1) }
            if let group = pace.groups.first, index.device(device, of: group.account) == nil { pacer.forget(device) }
        }
        pacer.notice(now)
    }

    /// Decides by other bounds and defaults from now on.
    mutating func follow(_ policy: PacingPolicy?) {
        self.policy = store == nil ? nil : policy
        pacer.reconsiderAll()
    }

    mutating func take(_ change: IndexChange) {
        switch change {
        case .put(let device):
            if device.isElsewhere { pacer.move(device.device) }
            pacer.reconsider(device.device)
        case .remove(let device, _): pacer.forget(device)
        case .messageKeys: break
        }
    }

    mutating func take(_ ends: [PushEnd], at now: Int64) {
        for end in ends {
            let moment = min(end.moment, now)
            if end.standsAside {
                pacer.standAside(end.delivery, of: end.device, at: moment)
            } else {
                pacer.end(end.delivery, of: end.device, counts: end.counts, at: moment)
            }
        }
    }

    /// How many milliseconds to wait at most before the next look; nil: for ever.
    func patience(at now: Int64) -> Int64? {
        guard let due = pacer.nextDue else { return nil }
        return due <= now ? 0 : min(due - now, Self.longestSleep)
    }

    /// Remembers what the first member of a new group says, or the latest one, until the disk does.
    mutating func keep(_ notification: HeldNotification, of group: HeldGroup, _ device: DeviceID) {
        unkept[HeldKey(device: device, slot: group.slot)] = notification
    }

    /// What the only member of a group says that waits no longer; nil when the disk knows nothing of it.
    func notification(of group: HeldGroup, _ device: DeviceID) throws -> HeldNotification? {
        let key = HeldKey(device: device, slot: group.slot)
        return try unkept[key] ?? store?.heldNotification(key)
    }

    /// What the disk has to be told.
    var changes: PaceChanges {
        var changes = PaceChanges()
        changes.forgotten = Array(pacer.forgotten.keys)
        for change in pacer.changes {
            changes.rows.append(PaceRow(change.device, change.pace))
            let former = change.former?.groups ?? []
            for group in change.pace.groups where !former.contains(group) {
                let key = HeldKey(device: change.device, slot: group.slot)
                let content = unkept[key].map { HeldRow.Content.notification($0) } ?? .asBefore
                changes.held.append(HeldRow(group, key, group.saysItself ? content : .none))
            }
            for group in former where !change.pace.groups.contains(where: { $0.slot == group.slot }) {
                changes.released.append(HeldKey(device: change.device, slot: group.slot))
            }
        }
        return changes
    }

    mutating func commit() {
        pacer.commit()
        unkept.removeAll(keepingCapacity: true)
    }

    mutating func rollBack(at now: Int64) {
        pacer.rollBack(until: now + Self.pauseAfterRefusal)
        unkept.removeAll(keepingCapacity: true)
    }
}
