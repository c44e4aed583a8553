import Nostr
import Push

/// A group that was merged into another one of the same device.
struct GroupMerge: Equatable {
    let device: DeviceID
    let group: HeldGroup
    /// The other group's first event.
    let into: EventID

    /// The groups of `old` that were merged. At the end of its window, a group joins the one of its kind that did not
    /// wait for it (``DevicePace``). Only merged groups disappear without a release.
    static func merges(of device: DeviceID, from old: [HeldGroup], to new: [HeldGroup]) -> [GroupMerge] {
        old.compactMap { group in
            guard group.hasOverflowed, group.mark == nil, !new.contains(where: { $0.event == group.event }),
                let other = old.first(where: { $0.isOfSameSort(as: group) && !$0.hasOverflowed })
            else { return nil }
            return GroupMerge(device: device, group: group, into: other.event)
        }
    }
}

/// A held group that will not be sent.
struct DroppedGroup {
    let device: DeviceID
    let group: HeldGroup
    /// The reason.
    let step: PipelineStep

    var reason: String { step == .unwanted ? group.signal.rawValue : StepReason.whileHeld.rawValue }
}

/// The changes of a batch to the devices' paces, until the disk takes or refuses them.
struct UncommittedPaces {
    /// The devices' states before this batch changed them; nil if they had none.
    private(set) var before: [DeviceID: DevicePace?] = [:]
    /// Devices whose stored rows are out of date. A crash may lose the difference.
    private(set) var outdated: Set<DeviceID> = []
    /// Whether the disk must take one of those with this batch: otherwise it would wait again after a restart.
    private var isWriteDue = false
    /// Removed devices whose rows are still on disk, with their held groups.
    private(set) var forgotten: [DeviceID: [HeldGroup]] = [:]
    /// Groups that were merged in this batch.
    private(set) var merges: [GroupMerge] = []
    /// Held groups that were expired or unwanted in this batch.
    private(set) var dropped: [DroppedGroup] = []

    /// Whether the batch must write to disk.
    var isTouched: Bool { !before.isEmpty || !forgotten.isEmpty || isWriteDue }

    /// Records the former state of a device that the batch changes.
    mutating func touch(_ device: DeviceID, _ former: DevicePace?) {
        if before.index(forKey: device) == nil { before.updateValue(former, forKey: device) }
    }

    mutating func note(merges new: [GroupMerge]) { merges += new }

    mutating func note(dropped group: DroppedGroup) { dropped.append(group) }

    /// Records that a delivery to the device ended. This is not undone with the batch, and may be written later.
    mutating func note(_ device: DeviceID) {
        outdated.insert(device)
    }

    /// Records that the device moved to another push target. This is not undone with the batch.
    mutating func move(_ device: DeviceID) {
        if case .some(.some(var former)) = before[device], former.history.move() {
            before.updateValue(former, forKey: device)
        }
    }

    /// Requires writing the device's row with this batch.
    mutating func requireWrite(of device: DeviceID) {
        note(device)
        isWriteDue = true
    }

    /// Records that a device was removed. This is not undone with the batch. `groups` were held for it; nil if it had
    /// no state.
    mutating func forget(_ device: DeviceID, _ groups: [HeldGroup]?) {
        before[device] = nil
        outdated.remove(device)
        if let groups { forgotten[device, default: []] += groups }
    }

    /// Ends a batch that the disk took.
    mutating func commit() {
        clear()
        outdated.removeAll(keepingCapacity: true)
        isWriteDue = false
        forgotten.removeAll(keepingCapacity: true)
    }

    /// Ends a batch that the disk refused. Returns the devices' former states.
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
