import Cluster
import Delivery
import Notifications

/// What waits in the outbox of one router, by the partitions of the cluster that it is to become.
struct PartitionedOutbox {
    private let outbox: Outbox
    private let partitions: [DeviceID: Int]
    private let count: Int
    private let limits: PartitionState.Limits
    private let atOnce: Int

    /// `partitions` are those of the registered devices, `count` is how many the cluster has, `limits` what each keeps.
    /// `atOnce`: deliveries that are in memory together.
    init(
        _ outbox: Outbox,
        _ partitions: [DeviceID: Int],
        of count: Int,
        limits: PartitionState.Limits,
        atOnce: Int = 200_000
    ) {
        (self.outbox, self.partitions, self.count, self.limits) = (outbox, partitions, count, limits)
        self.atOnce = atOnce
    }

    /// Partitions in groups that fit into memory together, and how many deliveries are in none, as they are for devices
    /// that are no longer registered.
    func groups() throws -> (groups: [Range<Int>], leftOut: Int) {
        var counts = Array(repeating: 0, count: count)
        var leftOut = 0
        try outbox.forEachWaiting { _, device in
            if let partition = partitions[device] { counts[partition] += 1 } else { leftOut += 1 }
        }
        var groups: [Range<Int>] = []
        var (start, size) = (0, 0)
        for partition in 0..<count {
            if partition > start, size + counts[partition] > atOnce {
                groups.append(start..<partition)
                (start, size) = (partition, 0)
            }
            size += counts[partition]
        }
        return (groups + [start..<count], leftOut)
    }

    /// What belongs to each partition of a group.
    func states(of group: Range<Int>) throws -> [Int: PartitionState] {
        var states: [Int: PartitionState] = [:]
        for partition in group { states[partition] = PartitionState(limits: limits) }
        func partition(of device: DeviceID) -> Int? { partitions[device].flatMap { group.contains($0) ? $0 : nil } }
        // Which accounts an event concerned is not known any more: each partition remembers the newest.
        var causes: [[UInt8]] = []
        try outbox.forEachCause { causes.append(Array($0)) }
        causes = causes.suffix(limits.causes)
        for partition in group { for cause in causes { states[partition]?.adopt(cause: cause) } }
        let withdrawals = try outbox.withdrawals().suffix(limits.withdrawals)
        for partition in group { for withdrawal in withdrawals { states[partition]?.adopt(withdrawal) } }
        try outbox.forEachStored { stored in
            guard let partition = partition(of: stored.delivery.device) else { return }
            states[partition]?.adopt(
                stored.delivery,
                attempts: stored.attempts,
                due: stored.due,
                failure: stored.failure
            )
        }
        try outbox.forEachPace { row in partition(of: row.device).map { states[$0]?.adopt(row) } }
        try outbox.forEachHeld { row in partition(of: row.key.device).map { states[$0]?.adopt(row) } }
        try outbox.forEachHeldMember { member in partition(of: member.key.device).map { states[$0]?.adopt(member) } }
        try outbox.forEachKeptLetter { letter in
            partition(of: letter.delivery.device).map { states[$0]?.adopt(letter) }
        }
        return states
    }
}
