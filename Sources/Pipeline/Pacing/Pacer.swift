import HeapModule
import Nostr
import Notifications

/// How all devices are woken: who waits for what, and who is next. Knows no clock, no disk and no registry.
///
/// What a batch of events did to it stands under reserve until the disk took it: ``commit()``, or else ``rollBack(until:)``. What
/// has happened outside, the ends of deliveries and the going of devices, holds in either case.
package struct Pacer {
    private struct Place {
        var pace: DevicePace
        /// When its valid timer rings; `.max`: none is set.
        var due = Int64.max
        /// When to ask for room again; in memory alone, so that whoever waited over a restart asks at once.
        var asksAgainAt = Int64.min
    }

    /// How far a clock may go back before all timers are looked at anew, in milliseconds.
    private static let tolerance: Int64 = 1000
    /// After how long, in milliseconds, whoever waits for room asks again: half as long as it waited by then, within these bounds.
    static let pauses: ClosedRange<Int64> = 1000...60_000

    private var places: [DeviceID: Place] = [:]
    /// The earliest first; most are valid, and of a device the one at its `due`.
    private var timers = Heap<PaceTimer>()
    private var reserve = PaceReserve()
    /// The latest moment that the clock has shown.
    private var latest = Int64.min
    /// Devices for which something waits.
    private(set) var waitingDevices = 0

    package init() {}

    subscript(device: DeviceID) -> DevicePace? { places[device]?.pace }

    /// Devices of which anything is known.
    var count: Int { places.count }

    /// Timers, also those that are valid no more.
    var timerCount: Int { timers.count }

    /// When to look for those whose time has come; nil: at no particular time.
    package var nextDue: Int64? { timers.min?.due }

    /// Takes what the disk knew, before anything else happens. What waits is looked at soon.
    mutating func restore(_ pace: DevicePace, of device: DeviceID) {
        places[device] = Place(pace: pace)
        if !pace.groups.isEmpty {
            waitingDevices += 1
            reconsider(device)
        }
    }

    /// Looks at the clock, which may have been put back: then all timers are worth nothing. And lets go of devices of which nothing
    /// matters any more, once a day.
    package mutating func notice(_ now: Int64) {
        guard latest > .min else {
            latest = now
            return
        }
        if now < latest - Self.tolerance {
            latest = now
            reconsiderAll()
        } else if now > latest {
            let isNewDay = DevicePace.number(ofDay: now) > DevicePace.number(ofDay: latest)
            latest = now
            if isNewDay {
                places = places.filter { !$0.value.pace.isInert(at: now) || reserve.unwritten.contains($0.key) }
            }
        }
    }

    /// Whether anything waits for a device.
    func isHolding(_ device: DeviceID) -> Bool { places[device]?.pace.groups.isEmpty == false }

    /// One more match for a device. `takesRoom` is asked when nothing else stands against a push.
    package mutating func admit(
        _ match: PaceMatch,
        of device: DeviceID,
        _ account: PublicKey,
        _ pace: Pace,
        at now: Int64,
        takesRoom: () -> Bool = { true }
    ) -> DevicePace.Admission {
        // What comes now shall neither be counted with what is worth nothing any more nor lose its text to it.
        drop(of: device, .expired) { $0.isExpired(at: now) }
        let admission = change(device) { $0.admit(match, account: account, pace, at: now, takesRoom: takesRoom) }
        switch admission {
        case .held(.behind, _): putOff(device, at: now)
        case .held: break
        case .goes: places[device]?.asksAgainAt = .min
        }
        arm(device, pace, at: now)
        return admission
    }

    /// A push sets out to a device.
    package mutating func release(
        _ delivery: String,
        to device: DeviceID,
        _ nature: PushNature = .alert,
        _ pace: Pace = Pace(),
        at now: Int64
    ) {
        change(device) { $0.release(delivery, nature, pace, at: now) }
    }

    /// Takes out what waits under `mark`, since what comes now must not go before it.
    mutating func take(_ mark: Int64, of device: DeviceID) -> HeldGroup? {
        guard isHolding(device) else { return nil }
        return change(device, mayMerge: false) { $0.takeOut { $0.mark == mark } }.first
    }

    /// The end of a delivery; those that nobody counted change nothing.
    package mutating func end(_ delivery: String, of device: DeviceID, counts: Bool, at now: Int64) {
        conclude(device) { $0.end(delivery, counts: counts, at: now) }
    }

    /// A delivery that failed so often that it keeps nothing else waiting.
    mutating func standAside(_ delivery: String, of device: DeviceID, at now: Int64) {
        conclude(device) { $0.standAside(delivery, at: now) }
    }

    private mutating func conclude(_ device: DeviceID, _ body: (inout DevicePace) -> Bool) {
        guard var pace = places[device]?.pace, body(&pace) else { return }
        places[device]?.pace = pace
        // Else its row was last written when the push set out, and the outbox takes the end down by itself.
        guard !pace.groups.isEmpty else { return }
        reserve.note(device)
        reconsider(device)
    }

    /// One of the device's group that goes by `first` was deleted by its author. Returns the group as it was; nil when
    /// there is none.
    mutating func withdraw(fromGroupOf first: EventID, of device: DeviceID) -> HeldGroup? {
        guard places[device] != nil else { return nil }
        return change(device, mayMerge: false) { $0.withdraw(fromGroupOf: first) }
    }

    /// The device is registered at another place by now. This may come amid a batch, and holds if the disk refuses that.
    mutating func move(_ device: DeviceID) {
        reserve.move(device)
        guard var pace = places[device]?.pace, pace.move() else { return }
        places[device]?.pace = pace
        reserve.owe(device)
        reconsider(device)
    }

    /// The device is registered no more.
    mutating func forget(_ device: DeviceID) {
        let groups = places.removeValue(forKey: device)?.pace.groups
        if groups?.isEmpty == false { waitingDevices -= 1 }
        reserve.forget(device, groups)
    }

    /// What the device may wish has changed; if something waits for it, that is looked at anew.
    mutating func reconsider(_ device: DeviceID) {
        guard let place = places[device], !place.pace.groups.isEmpty, place.due > .min else { return }
        setTimer(of: device, to: .min)
    }

    /// What anybody may wish has changed.
    mutating func reconsiderAll() {
        timers = Heap()
        for (device, place) in places where !place.pace.groups.isEmpty {
            places[device]?.due = .max
            reconsider(device)
        }
    }

    /// What goes now, some `limit` pushes at most. `wish` says at what pace a device of an account is woken; nil: it is
    /// registered no more, and is forgotten. `isWanted` says whether it still wishes to be told of the only event of a group, and
    /// `takesRoom` whether there is room for a push to it; who gets none counts towards `limit` too.
    package mutating func takeDue(
        at now: Int64,
        limit: Int = .max,
        isWanted: (DeviceID, HeldGroup) -> Bool = { _, _ in true },
        takesRoom: (DeviceID, PublicKey) -> Bool = { _, _ in true },
        wish: (DeviceID, PublicKey) -> Pace?
    ) -> [Release] {
        var releases: [Release] = []
        var refused = 0
        while releases.count + refused < limit, let timer = timers.min, timer.due <= now {
            timers.removeMin()
            guard let place = places[timer.device], place.due == timer.due, let group = place.pace.groups.first else {
                continue
            }
            places[timer.device]?.due = .max
            guard let pace = wish(timer.device, group.account) else {
                forget(timer.device)
                continue
            }
            drop(of: timer.device, .expired) { $0.isExpired(at: now) }
            drop(of: timer.device, .unwanted) { $0.saysItself && !isWanted(timer.device, $0) }
            var isBehind = false
            let ready = change(timer.device) { device in
                device.takeReady(pace, at: now) {
                    isBehind = !takesRoom(timer.device, group.account)
                    return !isBehind
                }
            }
            if isBehind {
                refused += 1
                putOff(timer.device, at: now)
            } else if !ready.isEmpty {
                places[timer.device]?.asksAgainAt = .min
            }
            releases += ready.map { Release(device: timer.device, pace: pace, groups: $0) }
            // What these leave over is looked at when they are on their way.
            arm(timer.device, pace, at: now, notBefore: ready.isEmpty ? now : now + 1)
        }
        return releases
    }

    /// Lets what waits still wait for its time, after a release was carried out.
    mutating func arm(_ device: DeviceID, _ pace: Pace, at now: Int64, notBefore earliest: Int64 = .min) {
        guard let place = places[device], !place.pace.groups.isEmpty, let due = place.pace.due(pace, at: now) else {
            return
        }
        // A clock that was put back makes nobody wait longer.
        let later = max(due, earliest, min(place.asksAgainAt, now + Self.pauses.upperBound))
        if later != place.due { setTimer(of: device, to: later) }
    }

    /// There is no room for a push to the device now.
    private mutating func putOff(_ device: DeviceID, at now: Int64) {
        guard let since = places[device]?.pace.groups.map(\.since).min() else { return }
        let pause = min(max((now - since) / 2, Self.pauses.lowerBound), Self.pauses.upperBound)
        places[device]?.asksAgainAt = now + pause
    }

    private mutating func drop(of device: DeviceID, _ step: PipelineStep, where isDropped: (HeldGroup) -> Bool) {
        guard let groups = places[device]?.pace.groups, groups.contains(where: isDropped) else { return }
        for group in change(device, mayMerge: false, { $0.takeOut(where: isDropped) }) {
            reserve.dropped.append(DroppedGroup(device: device, group: group, step: step))
        }
    }

    private mutating func setTimer(of device: DeviceID, to due: Int64) {
        places[device]?.due = due
        timers.insert(PaceTimer(due: due, device: device))
        // Those that are valid no more go by themselves when their time comes, unless they become too many.
        if timers.count > 2 * waitingDevices + 1024 {
            timers = Heap(
                places.lazy.filter { $0.value.due < .max && !$0.value.pace.groups.isEmpty }
                    .map { PaceTimer(due: $0.value.due, device: $0.key) }
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
        reserve.touch(device, old)
        waitingDevices += (new.groups.isEmpty ? 0 : 1) - (old?.groups.isEmpty ?? true ? 0 : 1)
        places[device, default: Place(pace: new)].pace = new
        if mayMerge { reserve.merges += GroupMerge.merges(of: device, from: old?.groups ?? [], to: new.groups) }
        return result
    }
}

/// What the disk is told, and what becomes of it.
extension Pacer {
    struct Change {
        let device: DeviceID
        let pace: DevicePace
        /// As the disk knows it.
        let former: DevicePace?
    }

    /// Whether there is anything that the disk must take for this batch to be kept.
    var isTouched: Bool { reserve.isTouched }

    /// Devices that are no more, and of which the disk has not been told; with what waited for them.
    var forgotten: [DeviceID: [HeldGroup]] { reserve.forgotten }

    /// Groups that became part of others in this batch, and left no other sign of it.
    var merges: [GroupMerge] { reserve.merges }

    /// Groups that in this batch turned out to be worth nothing any more.
    var dropped: [DroppedGroup] { reserve.dropped }

    /// All of which the disk knows less than we do.
    var changes: [Change] {
        var changes = reserve.before.compactMap { device, former in
            places[device].map { Change(device: device, pace: $0.pace, former: former) }
        }
        for device in reserve.unwritten where reserve.before.index(forKey: device) == nil {
            guard let pace = places[device]?.pace else { continue }
            changes.append(Change(device: device, pace: pace, former: pace))
        }
        return changes
    }

    /// The disk took it.
    package mutating func commit() { reserve.commit() }

    /// The disk refused: the batch has done nothing. What is due is not looked at before `moment`.
    mutating func rollBack(until moment: Int64) {
        for (device, former) in reserve.rollBack() {
            if let pace = places[device]?.pace, !pace.groups.isEmpty { waitingDevices -= 1 }
            places[device] = former.map { Place(pace: $0) }
            guard let former, !former.groups.isEmpty else { continue }
            waitingDevices += 1
            setTimer(of: device, to: moment)
        }
    }
}

/// When to look at a device again, in milliseconds since 1970.
struct PaceTimer: Comparable {
    let due: Int64
    let device: DeviceID

    static func < (left: PaceTimer, right: PaceTimer) -> Bool { (left.due, left.device) < (right.due, right.device) }
}

/// What waited for a device and goes as one push now.
package struct Release: Equatable, Sendable {
    package let device: DeviceID
    let pace: Pace
    /// The oldest first, at least one, and one alone where only the latest of its members counts.
    let groups: [HeldGroup]
}
