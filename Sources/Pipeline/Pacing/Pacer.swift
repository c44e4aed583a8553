import Core
import HeapModule
import Nostr
import Push

/// Held groups that are sent to a device as one push.
package struct ReleasedPush: Equatable, Sendable {
    package let device: DeviceID
    let pace: Pace
    /// At least one group, the oldest first. A group with a mark is always the only one.
    let groups: [HeldGroup]
}

/// The pacing state of all devices: their held groups, and the next one that is due. It uses no clock, disk or
/// registry.
///
/// The changes of a batch become final with ``commit()`` after the disk took them; ``rollBack(until:)`` undoes them.
/// Ends of deliveries and removals of devices are never undone.
package struct Pacer {
    struct Place {
        var pace: DevicePace
        /// When its valid timer fires; the distant future means that none is set.
        var due = Timestamp.distantFuture
        /// When to ask for capacity again. Not stored, so that held groups ask immediately after a restart.
        var asksAgainAt = Timestamp.distantPast
    }

    private struct Timer: Comparable {
        let due: Timestamp
        let device: DeviceID

        static func < (left: Timer, right: Timer) -> Bool { (left.due, left.device) < (right.due, right.device) }
    }

    /// The clock jump backwards that resets all timers.
    private static let tolerance: Duration = .seconds(1)
    /// A device that waits for capacity asks again after half the time that it has waited, within these bounds.
    static let pauses: ClosedRange<Duration> = .seconds(1) ... .minutes(1)

    /// Devices with a state.
    private(set) var places: [DeviceID: Place] = [:]
    /// The earliest first. A device's timer is valid if it matches the device's `due`; most are.
    private var timers = Heap<Timer>()
    private(set) var uncommitted = UncommittedPaces()
    /// The latest time that the clock has shown.
    private var latest = Timestamp.distantPast
    /// The number of devices with held groups.
    private(set) var waitingDevices = 0

    package init() {}

    subscript(device: DeviceID) -> DevicePace? { places[device]?.pace }

    /// The number of timers, including invalid ones.
    var timerCount: Int { timers.count }

    /// When the first timer fires; nil if none is set.
    package var nextDue: Timestamp? { timers.min?.due }

    /// Adds the stored state of a device, before any other change. Held groups are checked soon.
    mutating func restore(_ pace: DevicePace, of device: DeviceID) {
        places[device] = Place(pace: pace)
        if !pace.groups.isEmpty {
            waitingDevices += 1
            reconsider(device)
        }
    }

    /// Notes the current time. Resets all timers if the clock was set back, and removes devices without relevant state
    /// once a day.
    package mutating func notice(_ now: Timestamp) {
        guard latest > .distantPast else {
            latest = now
            return
        }
        if now < latest - Self.tolerance {
            latest = now
            reconsiderAll()
        } else if now > latest {
            let isNewDay = PushHistory.number(ofDay: now) > PushHistory.number(ofDay: latest)
            latest = now
            if isNewDay {
                places = places.filter { !$0.value.pace.isInert(at: now) || uncommitted.outdated.contains($0.key) }
            }
        }
    }

    /// Whether a group is held for a device.
    func isHolding(_ device: DeviceID) -> Bool { places[device]?.pace.groups.isEmpty == false }

    /// Whether one more match for a device could be sent now if the outbox has capacity. Drops expired groups, so that
    /// the match does not join them.
    mutating func isReady(
        for match: PaceMatch,
        of device: DeviceID,
        _ pace: Pace,
        at now: Timestamp
    ) -> Bool {
        drop(of: device, .expired) { $0.isExpired(at: now) }
        return (places[device]?.pace ?? DevicePace()).isReady(for: match, pace, at: now)
    }

    /// Admits one more match for a device. `hasCapacity` matters only if the device is ready for it; see
    /// ``isReady(for:of:_:at:)``.
    package mutating func admit(
        _ match: PaceMatch,
        of device: DeviceID,
        _ account: PublicKey,
        _ pace: Pace,
        at now: Timestamp,
        hasCapacity: Bool = true
    ) -> DevicePace.Decision {
        drop(of: device, .expired) { $0.isExpired(at: now) }
        let admission = change(device) {
            $0.admit(match, account: account, pace, at: now, hasCapacity: hasCapacity)
        }
        switch admission {
        case .held(.behind, _): putOff(device, at: now)
        case .held: break
        case .goes: places[device]?.asksAgainAt = .distantPast
        }
        arm(device, pace, at: now)
        return admission
    }

    /// Records that a push to a device is sent.
    package mutating func release(
        _ delivery: DeliveryID,
        to device: DeviceID,
        _ nature: PushNature = .alert,
        _ pace: Pace = Pace(),
        at now: Timestamp
    ) {
        change(device) { $0.history.release(delivery, nature, pace, at: now) }
    }

    /// Removes the group held under `mark`, because a match of that mark must not overtake it.
    mutating func take(_ mark: Int64, of device: DeviceID) -> HeldGroup? {
        guard isHolding(device) else { return nil }
        return change(device, mayMerge: false) { $0.takeOut { $0.mark == mark } }.first
    }

    /// Records the end of a delivery.
    package mutating func end(_ delivery: DeliveryID, of device: DeviceID, counts: Bool, at now: Timestamp) {
        conclude(device) { $0.history.end(delivery, counts: counts, at: now) }
    }

    /// Records that a delivery failed too often and no longer blocks others.
    mutating func stopBlocking(_ delivery: DeliveryID, of device: DeviceID, at now: Timestamp) {
        conclude(device) { $0.history.stopBlocking(delivery, at: now) }
    }

    private mutating func conclude(_ device: DeviceID, _ body: (inout DevicePace) -> Bool) {
        guard var pace = places[device]?.pace, body(&pace) else { return }
        places[device]?.pace = pace
        // Otherwise the row was last written when the push was sent, and the outbox writes the end itself.
        guard !pace.groups.isEmpty else { return }
        uncommitted.note(device)
        reconsider(device)
    }

    /// Removes an event, which its author deleted, from the group named after `first`. Returns the former group; nil if
    /// there is none.
    mutating func withdraw(_ event: EventID, fromGroupOf first: EventID, of device: DeviceID) -> HeldGroup? {
        guard places[device] != nil else { return nil }
        return change(device, mayMerge: false) { $0.withdraw(event, fromGroupOf: first) }
    }

    /// Handles a device that moved to another push target. This may happen within a batch, and is not undone with it.
    mutating func move(_ device: DeviceID) {
        uncommitted.move(device)
        guard var pace = places[device]?.pace, pace.history.move() else { return }
        places[device]?.pace = pace
        uncommitted.requireWrite(of: device)
        reconsider(device)
    }

    /// Removes a device that is no longer registered.
    mutating func forget(_ device: DeviceID) {
        let groups = places.removeValue(forKey: device)?.pace.groups
        if groups?.isEmpty == false { waitingDevices -= 1 }
        uncommitted.forget(device, groups)
    }

    /// Checks a device's held groups again, because its preferences may have changed.
    mutating func reconsider(_ device: DeviceID) {
        guard let place = places[device], !place.pace.groups.isEmpty, place.due > .distantPast else { return }
        setTimer(of: device, to: .distantPast)
    }

    /// Checks the held groups of all devices again, because preferences may have changed.
    mutating func reconsiderAll() {
        timers = Heap()
        for (device, place) in places where !place.pace.groups.isEmpty {
            places[device]?.due = .distantFuture
            reconsider(device)
        }
    }

    /// Removes the groups to send now, about `limit` pushes at most. `pace` returns a device's pace, or nil if it is no
    /// longer registered; it is then removed. `isWanted` returns whether the device still wants the only event of a
    /// group. `hasCapacity` is called for each push; a device without capacity counts towards `limit` too.
    package mutating func takeDue(
        at now: Timestamp,
        limit: Int = .max,
        isWanted: (DeviceID, HeldGroup) -> Bool = { _, _ in true },
        hasCapacity: (DeviceID, PublicKey) -> Bool = { _, _ in true },
        pace paceOf: (DeviceID, PublicKey) -> Pace?
    ) -> [ReleasedPush] {
        var releases: [ReleasedPush] = []
        var refused = 0
        while releases.count + refused < limit, let timer = timers.min, timer.due <= now {
            timers.removeMin()
            guard let place = places[timer.device], place.due == timer.due, let group = place.pace.groups.first else {
                continue
            }
            places[timer.device]?.due = .distantFuture
            guard let pace = paceOf(timer.device, group.account) else {
                forget(timer.device)
                continue
            }
            drop(of: timer.device, .expired) { $0.isExpired(at: now) }
            drop(of: timer.device, .unwanted) { $0.isSingleEvent && !isWanted(timer.device, $0) }
            var isBehind = false
            let ready = change(timer.device) { device in
                device.takeReady(pace, at: now) {
                    isBehind = !hasCapacity(timer.device, group.account)
                    return !isBehind
                }
            }
            if isBehind {
                refused += 1
                putOff(timer.device, at: now)
            } else if !ready.isEmpty {
                places[timer.device]?.asksAgainAt = .distantPast
            }
            releases += ready.map { ReleasedPush(device: timer.device, pace: pace, groups: $0) }
            // The remaining groups are checked after these were sent.
            arm(timer.device, pace, at: now, notBefore: ready.isEmpty ? now : now + .milliseconds(1))
        }
        return releases
    }

    /// Sets the timer for the groups that are still held, after a release was sent.
    mutating func arm(_ device: DeviceID, _ pace: Pace, at now: Timestamp, notBefore earliest: Timestamp = .distantPast)
    {
        guard let place = places[device], !place.pace.groups.isEmpty, let due = place.pace.due(pace, at: now) else {
            return
        }
        // If the clock was set back, devices must not wait longer.
        let later = max(due, earliest, min(place.asksAgainAt, now + Self.pauses.upperBound))
        if later != place.due { setTimer(of: device, to: later) }
    }

    /// Delays a device because the outbox has no capacity for it.
    private mutating func putOff(_ device: DeviceID, at now: Timestamp) {
        guard let since = places[device]?.pace.groups.map(\.since).min() else { return }
        let pause = min(max((now - since) / 2, Self.pauses.lowerBound), Self.pauses.upperBound)
        places[device]?.asksAgainAt = now + pause
    }

    private mutating func drop(of device: DeviceID, _ step: PipelineStep, where isDropped: (HeldGroup) -> Bool) {
        guard let groups = places[device]?.pace.groups, groups.contains(where: isDropped) else { return }
        for group in change(device, mayMerge: false, { $0.takeOut(where: isDropped) }) {
            uncommitted.note(dropped: DroppedGroup(device: device, group: group, step: step))
        }
    }

    private mutating func setTimer(of device: DeviceID, to due: Timestamp) {
        places[device]?.due = due
        timers.insert(Timer(due: due, device: device))
        // Invalid timers are removed when they fire, unless there are too many.
        if timers.count > 2 * waitingDevices + 1024 {
            timers = Heap(
                places.lazy.filter { $0.value.due < .distantFuture && !$0.value.pace.groups.isEmpty }
                    .map { Timer(due: $0.value.due, device: $0.key) }
            )
        }
    }

    @discardableResult
    private mutating func change<Result>(
        _ device: DeviceID,
        mayMerge: Bool = true,
        _ body: (inout DevicePace) -> Result
    ) -> Result {
        let old = places[device]?.pace
        var new = old ?? DevicePace()
        let result = body(&new)
        guard new != old ?? DevicePace() else { return result }
        uncommitted.touch(device, old)
        waitingDevices += (new.groups.isEmpty ? 0 : 1) - (old?.groups.isEmpty ?? true ? 0 : 1)
        places[device, default: Place(pace: new)].pace = new
        if mayMerge {
            uncommitted.note(merges: GroupMerge.merges(of: device, from: old?.groups ?? [], to: new.groups))
        }
        return result
    }

    // MARK: Storage

    struct Change {
        let device: DeviceID
        let pace: DevicePace
        /// The state on disk.
        let former: DevicePace?
    }

    /// All devices whose stored rows are out of date.
    var changes: [Change] {
        var changes = uncommitted.before.compactMap { device, former in
            places[device].map { Change(device: device, pace: $0.pace, former: former) }
        }
        for device in uncommitted.outdated where uncommitted.before.index(forKey: device) == nil {
            guard let pace = places[device]?.pace else { continue }
            changes.append(Change(device: device, pace: pace, former: pace))
        }
        return changes
    }

    /// Makes the batch final, after the disk took it.
    package mutating func commit() { uncommitted.commit() }

    /// Undoes the batch, because the disk refused it. Due devices wait until `moment`.
    mutating func rollBack(until moment: Timestamp) {
        for (device, former) in uncommitted.rollBack() {
            if let pace = places[device]?.pace, !pace.groups.isEmpty { waitingDevices -= 1 }
            places[device] = former.map { Place(pace: $0) }
            guard let former, !former.groups.isEmpty else { continue }
            waitingDevices += 1
            setTimer(of: device, to: moment)
        }
    }
}
