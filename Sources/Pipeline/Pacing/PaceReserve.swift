import Nostr
import Notifications

/// What a batch of events did to the devices' paces, until the disk took it or refused it.
struct PaceReserve {
    /// What the devices were before this batch touched them; nil: nothing was known of them.
    private(set) var before: [DeviceID: DevicePace?] = [:]
    /// Devices of which the disk knows less than we do, though nothing that it may not lose.
    private(set) var unwritten: Set<DeviceID> = []
    /// Whether there is one among them that the disk must know all the same: else it would wait again after a restart.
    private var isOwed = false
    /// Devices that are no more, and of which the disk has not been told; with what waited for them.
    private(set) var forgotten: [DeviceID: [HeldGroup]] = [:]
    /// Groups that became part of others in this batch, and left no other sign of it.
    var merges: [GroupMerge] = []
    /// Groups that in this batch turned out to be worth nothing any more.
    var dropped: [DroppedGroup] = []

    /// Whether there is anything that the disk must take for this batch to be kept.
    var isTouched: Bool { !before.isEmpty || !forgotten.isEmpty || isOwed }

    /// The batch changes a device, which was `former`.
    mutating func touch(_ device: DeviceID, _ former: DevicePace?) {
        if before.index(forKey: device) == nil { before.updateValue(former, forKey: device) }
    }

    /// Something happened outside that holds whatever becomes of the batch, and that the disk need not know at once.
    mutating func note(_ device: DeviceID) {
        unwritten.insert(device)
    }

    /// The device is registered at another place by now, which holds whatever becomes of the batch.
    mutating func move(_ device: DeviceID) {
        if case .some(.some(var former)) = before[device], former.move() { before.updateValue(former, forKey: device) }
    }

    /// The disk must be told of what was noted of a device.
    mutating func owe(_ device: DeviceID) {
        note(device)
        isOwed = true
    }

    /// The device is no more, which holds whatever becomes of the batch; what waited for it, nil where nothing was known of it.
    mutating func forget(_ device: DeviceID, _ groups: [HeldGroup]?) {
        before[device] = nil
        unwritten.remove(device)
        if let groups { forgotten[device, default: []] += groups }
    }

    /// The disk took it.
    mutating func commit() {
        clear()
        unwritten.removeAll(keepingCapacity: true)
        isOwed = false
        forgotten.removeAll(keepingCapacity: true)
    }

    /// The disk refused. Returns what the devices are again.
    mutating func rollBack() -> [DeviceID: DevicePace?] {
        defer { clear() }
        return before
    }

    private mutating func clear() {
        before.removeAll(keepingCapacity: true)
        merges.removeAll(keepingCapacity: true)
        dropped.removeAll(keepingCapacity: true)
    }
}

/// A group that is part of another one of its device's from now on.
struct GroupMerge: Equatable {
    let device: DeviceID
    let group: HeldGroup
    /// The other one's first event.
    let into: EventID

    /// What became part of what. At the end of its window a group joins the one of its sort that did not wait for that
    /// (``DevicePace``), and is released by no other name.
    static func merges(of device: DeviceID, from old: [HeldGroup], to new: [HeldGroup]) -> [GroupMerge] {
        old.compactMap { group in
            guard group.hasOverflowed, group.mark == nil, !new.contains(where: { $0.event == group.event }),
                let other = old.first(where: { $0.isOfSameSort(as: group) && !$0.hasOverflowed })
            else { return nil }
            return GroupMerge(device: device, group: group, into: other.event)
        }
    }
}

/// A group that was held for a device and will not be told.
struct DroppedGroup {
    let device: DeviceID
    let group: HeldGroup
    /// Why not.
    let step: PipelineStep

    /// What else is to be said of that.
    var reason: String { step == .unwanted ? group.signal.rawValue : "while it was held" }
}
