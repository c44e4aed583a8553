import Core
import Delivery
import Nostr
import Push
import Registry
import Rules

/// The pacing stage: sends a match now, sends it with others, or holds it. It combines the ``Pacer`` with the
/// operator's policy and the stored state. Without a store every push is sent immediately.
struct Pacing {
    /// The decision about a match.
    enum Decision {
        /// Sent now, without pacing. The group held under its mark is sent before it.
        case bypasses(after: HeldGroup?)
        /// Sent now, as one push with these held groups.
        case now(with: [HeldGroup])
        /// Held as part of this group.
        case later(HoldReason, in: HeldGroup)
    }

    /// The maximum number of due devices that are released in one batch.
    static let releasesPerBatch = 2000
    /// The time before due groups are tried again after the disk refused.
    static let pauseAfterRefusal: Duration = .seconds(1)
    /// The maximum time between two clock checks while groups are held, because the clock may jump.
    static let longestSleep: Duration = .seconds(15)

    private var policy: PacingPolicy?
    private let store: Outbox?
    private var pacer = Pacer()
    private var matches = HeldMatches()
    /// The notifications of held events that are not on disk yet.
    private var unkept: [HeldMemberKey: HeldNotification] = [:]

    init(policy: PacingPolicy?, store: Outbox?) {
        self.policy = store == nil ? nil : policy
        self.store = store
    }

    /// Loads the stored state. Devices that are no longer registered are removed.
    mutating func load(_ index: borrowing MatchIndex, at now: Timestamp) throws {
        guard let store, policy != nil else { return }
        var paces: [DeviceID: DevicePace] = [:]
        var members: [DeviceID: [UInt8: HeldGroup.Member]] = [:]
        var origins: [EventID: EventOrigin] = [:]
        try store.loadPaces(at: now) { row in
            paces[row.device] = DevicePace(row)
        } member: { row in
            guard let member = HeldGroup.Member(row) else { return }
            members[row.key.device, default: [:]][member.number] = member
            origins[member.event] = row.held.notification.origin
        } held: { row in
            guard let group = HeldGroup(row, members[row.key.device] ?? [:]) else { return }
            paces[row.key.device, default: DevicePace()].restore(group)
        }
        for (device, pace) in paces {
            pacer.restore(pace, of: device)
            for group in pace.groups {
                for member in group.members { matches.add(member.event, of: device, in: group) }
            }
            if let group = pace.groups.first, index.device(device, of: group.account) == nil { pacer.forget(device) }
        }
        for (event, origin) in origins { matches.sign(event, origin) }
        pacer.notice(now)
    }

    // MARK: Settings

    /// Whether pacing is enabled. If not, pushes need no capacity in the outbox either.
    var isOn: Bool { policy != nil }

    /// Switches to other bounds and defaults.
    mutating func follow(_ policy: PacingPolicy?) {
        self.policy = store == nil ? nil : policy
        pacer.reconsiderAll()
    }

    /// Returns the pace of a device of `platform`; nil means that every push is sent immediately.
    func pace(for preferences: PacePreferences, on platform: String) -> Pace? {
        Self.pace(for: preferences, on: platform, by: policy)
    }

    private static func pace(for preferences: PacePreferences, on platform: String, by policy: PacingPolicy?) -> Pace? {
        guard let pace = policy?.pace(for: preferences, on: platform), !pace.isUnlimited else { return nil }
        return pace
    }

    mutating func apply(_ change: IndexChange) {
        switch change {
        case .put(let device):
            if device.isElsewhere { pacer.move(device.device) }
            pacer.reconsider(device.device)
        case .remove(let device, _): pacer.forget(device)
        case .messageKeys: break
        }
    }

    /// Starts a batch at `now` with these ends of deliveries.
    mutating func begin(at now: Timestamp, _ ends: [CompletedPush]) {
        pacer.notice(now)
        for end in ends {
            let moment = min(end.moment, now)
            if end.stopsBlocking {
                pacer.stopBlocking(end.delivery, of: end.device, at: moment)
            } else {
                pacer.end(end.delivery, of: end.device, counts: end.counts, at: moment)
            }
        }
    }

    /// The maximum time until the next check; nil means no limit.
    func timeout(at now: Timestamp) -> Duration? {
        guard let due = pacer.nextDue else { return nil }
        return due <= now ? .zero : min(due - now, Self.longestSleep)
    }

    /// The number of devices with held groups.
    var waitingDevices: Int { pacer.waitingDevices }

    // MARK: Matches

    /// Whether a match depends on the outbox's capacity, which is then an argument of
    /// ``admit(_:to:at:hasCapacity:now:)``.
    mutating func dependsOnCapacity(_ match: PaceMatch, of device: DeviceID, at pace: Pace?, now: Timestamp) -> Bool {
        guard isOn else { return false }
        if bypasses(match, at: pace, now: now) { return true }
        if pace == nil, !pacer.isHolding(device) { return true }
        return pacer.isReady(for: match, of: device, pace ?? Pace(), at: now)
    }

    /// Decides about a match for a device. `hasCapacity` is whether the outbox takes a push to it now.
    mutating func admit(
        _ match: PaceMatch,
        to target: TargetDevice,
        at pace: Pace?,
        hasCapacity: Bool,
        now: Timestamp
    ) -> Decision {
        let device = target.device
        // A special push never becomes part of a batch, so it is sent even without capacity.
        if hasCapacity || match.nature == .special, bypasses(match, at: pace, now: now) {
            return .bypasses(after: match.mark.flatMap { pacer.take($0, of: device) })
        }
        // A match must not overtake a group that waits for capacity.
        if hasCapacity, pace == nil, !pacer.isHolding(device) { return .bypasses(after: nil) }
        let admission = pacer.admit(
            match,
            of: device,
            target.account,
            pace ?? Pace(),
            at: now,
            hasCapacity: hasCapacity
        )
        switch admission {
        case .goes(let groups): return .now(with: groups)
        case .held(let reason, let group):
            matches.add(match.event, of: device, in: group)
            return .later(reason, in: group)
        }
    }

    /// Records that a push is sent. `mayLeaveMore` is whether other groups may still be held.
    mutating func release(
        _ delivery: DeliveryID,
        to device: DeviceID,
        _ nature: PushNature,
        _ pace: Pace,
        at now: Timestamp,
        mayLeaveMore: Bool = false
    ) {
        if pace.isGathering { pacer.release(delivery, to: device, nature, pace, at: now) }
        if mayLeaveMore { pacer.arm(device, pace, at: now) }
    }

    /// Removes the groups that are due; see ``Pacer/takeDue(at:limit:isWanted:hasCapacity:pace:)``. `takeCapacity` takes
    /// capacity in the outbox for a push to a device, and returns false if there is none.
    mutating func takeDue(
        in index: borrowing MatchIndex,
        at now: Timestamp,
        takeCapacity: (DeviceID, Route) -> Bool
    ) -> [ReleasedPush] {
        let policy = policy
        return pacer.takeDue(at: now, limit: Self.releasesPerBatch) { device, group in
            let signal = index.signals[group.signal]
            // A device cannot switch off a signal that no rule raises any longer.
            guard !signal.isEmpty, let entry = index.device(device, of: group.account) else { return true }
            return !entry.signals.isDisjoint(with: signal)
        } hasCapacity: { device, account in
            guard policy != nil, let entry = index.device(device, of: account), let route = index.route(entry.route)
            else { return true }
            return takeCapacity(device, route)
        } pace: { device, account in
            guard let entry = index.device(device, of: account) else { return nil }
            let platform = index.route(entry.route)?.platform ?? ""
            // A device that has no limits now waits no longer.
            return Self.pace(for: index.preferences(of: device).pace, on: platform, by: policy) ?? Pace()
        }
    }

    /// Whether a match is sent without pacing. Quiet hours still hold alerts, because the device requested them.
    private func bypasses(_ match: PaceMatch, at pace: Pace?, now: Timestamp) -> Bool {
        guard match.pace == .immediate else { return false }
        return match.nature != .alert || pace?.quietEnd(at: now, isMessage: match.signal == .dm) == nil
    }

    // MARK: Held events

    /// Keeps a held event's notification until it is on disk.
    mutating func keep(_ notification: HeldNotification, of member: HeldGroup.Member, _ device: DeviceID) {
        unkept[HeldMemberKey(device: device, number: member.number)] = notification
    }

    /// Returns the notification of a held event; nil if it is not stored.
    func notification(of member: HeldGroup.Member, _ device: DeviceID) throws -> HeldNotification? {
        let key = HeldMemberKey(device: device, number: member.number)
        return try unkept[key] ?? store?.heldNotification(key)
    }

    /// When a group may be sent, as far as that is known: after a push in progress, not before the cooldown.
    func due(_ group: HeldGroup, of device: DeviceID, at pace: Pace?, now: Timestamp) -> Timestamp? {
        let pace = pace ?? Pace()
        guard var held = pacer[device], let postponement = held.postponement(to: group, pace, at: now) else {
            return nil
        }
        if postponement.reason == .underWay { return now + pace.cooldown }
        return postponement.until == .distantFuture ? nil : postponement.until
    }

    /// Whether an event is held in any group.
    func holds(_ event: EventID) -> Bool { matches.contains(event) }

    /// Records the signer of a held event.
    mutating func sign(_ event: Event) { matches.sign(event.id, EventOrigin(event)) }

    /// Removes the events that a deletion names from their groups, and returns the former groups. `context` knows the
    /// signers of some events whose authors are no longer known here.
    mutating func withdraw(
        _ deletion: Deletion,
        _ context: inout EventContext
    ) -> [(event: EventID, group: HeldGroup, device: DeviceID)] {
        var withdrawn: [(event: EventID, group: HeldGroup, device: DeviceID)] = []
        for event in matches.events(of: deletion, &context) {
            for place in matches.take(event) {
                guard let group = pacer.withdraw(event, fromGroupOf: place.first, of: place.device) else { continue }
                withdrawn.append((event, group, place.device))
            }
        }
        return withdrawn
    }

    // MARK: Storage

    /// The changes of this batch. Also records which groups were merged.
    mutating func takeUncommitted() -> UncommittedPaces {
        let uncommitted = pacer.uncommitted
        for merge in uncommitted.merges { matches.merge(merge.group.event, into: merge.into, of: merge.device) }
        return uncommitted
    }

    var changes: PaceChanges {
        var changes = PaceChanges()
        changes.forgotten = Array(pacer.uncommitted.forgotten.keys)
        for change in pacer.changes {
            changes.rows.append(change.pace.history.row(of: change.device))
            let former = change.former?.groups ?? []
            for group in change.pace.groups where !former.contains(group) {
                changes.held.append(group.row(of: change.device))
            }
            for group in former where !change.pace.groups.contains(where: { $0.slot == group.slot }) {
                changes.released.append(HeldKey(device: change.device, slot: group.slot))
            }
            addMembers(of: change, former, to: &changes)
        }
        return changes
    }

    private func addMembers(of change: Pacer.Change, _ former: [HeldGroup], to changes: inout PaceChanges) {
        let before = former.flatMap(\.members)
        let members = change.pace.groups.flatMap(\.members)
        for member in members where !before.contains(member) {
            let key = HeldMemberKey(device: change.device, number: member.number)
            if let held = unkept[key] { changes.members.append(member.row(key, held)) }
        }
        for member in before where !members.contains(where: { $0.number == member.number }) {
            changes.removed.append(HeldMemberKey(device: change.device, number: member.number))
        }
    }

    mutating func commit() {
        pacer.commit()
        unkept.removeAll(keepingCapacity: true)
    }

    mutating func rollBack(at now: Timestamp) {
        pacer.rollBack(until: now + Self.pauseAfterRefusal)
        unkept.removeAll(keepingCapacity: true)
    }
}
