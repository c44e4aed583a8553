import Nostr
import Notifications

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
