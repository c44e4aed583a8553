import Delivery
import Foundation
import Push

/// A single router's outbox, divided into the partitions of the new cluster.
struct PartitionedOutbox {
    private let outbox: Outbox
    private let partitions: [DeviceID: Int]
    private let count: Int
    private let limits: PartitionState.Limits
    private let atOnce: Int

    /// `partitions` maps the registered devices, `count` is the number of partitions, `limits` apply to each. `atOnce`
    /// is the maximum of deliveries in memory.
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

    /// Groups partitions so that each group fits into memory. Also returns the number of deliveries that are omitted
    /// because their devices are no longer registered.
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

    /// The state of each partition of a group.
    func states(of group: Range<Int>) throws -> [Int: PartitionState] {
        var states: [Int: PartitionState] = [:]
        for partition in group { states[partition] = PartitionState(limits: limits) }
        func partition(of device: DeviceID) -> Int? { partitions[device].flatMap { group.contains($0) ? $0 : nil } }
        // An event's accounts are no longer known, so each partition remembers the newest events.
        var causes: [[UInt8]] = []
        try outbox.forEachCause { causes.append(Array($0)) }
        causes = causes.suffix(limits.causes)
        for partition in group { for cause in causes { states[partition]?.remember(cause) } }
        let withdrawals = try outbox.withdrawals().suffix(limits.withdrawals)
        for partition in group { for withdrawal in withdrawals { states[partition]?.remember(withdrawal) } }
        let contents = OutboxTransfer(outbox)
        try contents.forEachStored { stored in
            guard let partition = partition(of: stored.delivery.device) else { return }
            states[partition]?.adopt(stored)
        }
        try contents.forEachPace { row in partition(of: row.device).map { states[$0]?.paces[row.device] = row } }
        try contents.forEachHeld { row in partition(of: row.key.device).map { states[$0]?.held[row.key] = row } }
        try contents.forEachHeldMember { member in
            partition(of: member.key.device).map { states[$0]?.members[member.key] = member }
        }
        try contents.forEachKeptLetter { letter in
            partition(of: letter.delivery.device).map { states[$0]?.keep(letter) }
        }
        return states
    }
}

/// The outbox file that an export writes. It replaces the current one once it is complete. A copy of the current one is
/// kept until then, so that an interrupted export can start again.
struct ExportedOutbox {
    private static let ends = ["", "-wal", "-shm"]

    let present: String

    private var former: String { present + "-before-export" }
    private var new: String { present + "-export" }

    init(_ path: String) { present = path }

    /// Returns the path of the new file, which starts as a copy of the current one.
    func begin() throws -> String {
        if !FileManager.default.fileExists(atPath: former) { try copy(present, former) }
        try remove(new)
        try FileManager.default.copyItem(atPath: former, toPath: new)
        return new
    }

    /// Replaces the current file by the new one, which must be complete and closed.
    func use() throws {
        try remove(new, ends: ["-wal", "-shm"])
        try remove(present, ends: ["-wal", "-shm"])
        guard rename(new, present) == 0 else { throw CocoaError(.fileWriteUnknown) }
    }

    func removeFormer() { try? remove(former) }

    /// Copies a file; the target gets its name only when it is complete.
    private func copy(_ source: String, _ target: String) throws {
        try remove(target + "-new")
        try FileManager.default.copyItem(atPath: source, toPath: target + "-new")
        guard rename(target + "-new", target) == 0 else { throw CocoaError(.fileWriteUnknown) }
    }

    private func remove(_ path: String, ends: [String] = ExportedOutbox.ends) throws {
        for end in ends where FileManager.default.fileExists(atPath: path + end) {
            try FileManager.default.removeItem(atPath: path + end)
        }
    }
}
