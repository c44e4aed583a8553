import Nostr
import Push

/// A group that is part of another one of its device's from now on.
struct GroupMerge: Equatable {
    let device: DeviceID
    let group: HeldGroup
    /// The other one's first event.
    let into: EventID

    /// The groups of `old` that became part of others. At the end of its window a group joins the one of its sort that
    /// did not wait for that (``DevicePace``). Only merged groups leave without a release.
    static func merges(of device: DeviceID, from old: [HeldGroup], to new: [HeldGroup]) -> [GroupMerge] {
        old.compactMap { group in
            guard group.hasOverflowed, group.mark == nil, !new.contains(where: { $0.event == group.event }),
                let other = old.first(where: { $0.isOfSameSort(as: group) && !$0.hasOverflowed })
            else { return nil }
            return GroupMerge(device: device, group: group, into: other.event)
        }
    }
}

/// A group that was held for a device and is not sent.
struct DroppedGroup {
    let device: DeviceID
    let group: HeldGroup
    /// Why not.
    let step: PipelineStep

    var reason: String { step == .unwanted ? group.signal.rawValue : StepReason.whileHeld.rawValue }
}

/// What a batch of events did to the devices' paces, until the disk took it or refused it.
struct UncommittedPaces {
    /// The devices as they were before this batch touched them; nil: nothing was known of them.
    private(set) var before: [DeviceID: DevicePace?] = [:]
    /// Devices whose rows on disk are out of date. A crash may lose the difference.
    private(set) var outdated: Set<DeviceID> = []
    /// Whether the disk must take one of those all the same: otherwise it would wait again after a restart.
    private var isWriteDue = false
    /// Devices that are gone and whose rows are still on disk, with what waited for them.
    private(set) var forgotten: [DeviceID: [HeldGroup]] = [:]
    /// Groups that became part of others in this batch.
    private(set) var merges: [GroupMerge] = []
    /// Held groups that this batch found expired or unwanted.
    private(set) var dropped: [DroppedGroup] = []

    /// Whether there is anything that the disk must take for this batch to be kept.
    var isTouched: Bool { !before.isEmpty || !forgotten.isEmpty || isWriteDue }

    /// The batch changes a device, which was `former`.
    mutating func touch(_ device: DeviceID, _ former: DevicePace?) {
        if before.index(forKey: device) == nil { before.updateValue(former, forKey: device) }
    }

    mutating func note(merges new: [GroupMerge]) { merges += new }

    mutating func note(dropped group: DroppedGroup) { dropped.append(group) }

    /// A delivery to the device ended. This holds whatever becomes of the batch, and the disk need not know at once.
    mutating func note(_ device: DeviceID) {
        outdated.insert(device)
    }

    /// The device moved to another place. This holds whatever becomes of the batch.
    mutating func move(_ device: DeviceID) {
        if case .some(.some(var former)) = before[device], former.history.move() {
            before.updateValue(former, forKey: device)
        }
    }

    /// The disk must take the device's row with this batch.
    mutating func requireWrite(of device: DeviceID) {
        note(device)
        isWriteDue = true
    }

    /// The device is gone, whatever becomes of the batch. `groups` waited for it; nil where nothing was known of it.
    mutating func forget(_ device: DeviceID, _ groups: [HeldGroup]?) {
        before[device] = nil
        outdated.remove(device)
        if let groups { forgotten[device, default: []] += groups }
    }

    /// The disk took it.
    mutating func commit() {
        clear()
        outdated.removeAll(keepingCapacity: true)
        isWriteDue = false
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
