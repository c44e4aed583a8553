import Core
import Delivery
import Dispatch
import Logging
import Nostr
import Pipeline
import Push
import Storage
import Synchronization

/// A store of the steps of events and deliveries, so that an operator can explain why a device was not notified. It
/// holds neither content nor tokens.
///
/// It never blocks callers: entries that its disk is too slow for or refuses are lost and counted. A damaged file is
/// renamed with `.damaged` appended, and replaced.
package final class TraceStore: Sendable {
    private struct Pending {
        var entries = TraceRecords()
        var statuses = PendingStatuses()
        /// All current pauses, and whether they changed.
        var pauses: [QueueName: TracedPause] = [:]
        var hasOtherPauses = false
        var isScheduled = false
        /// Whether a write is scheduled for the statuses, which wait longer than entries.
        var areStatusesScheduled = false
        var isClosed = false
        /// Empty memory for entries. New memory for each write took a tenth of a crowd's CPU time in page faults
        /// (`contrib/bench/whole/run`).
        private var free = TraceRecords()
        /// The number of each owner's entries; empty until it is needed.
        private var owned: [TraceEntry.Owner: Int] = [:]
        /// The accounts of devices with recent entries.
        private var accounts: [DeviceID: PublicKey] = [:]

        /// Takes an entry; false if its owner has too many already.
        mutating func take(_ entry: inout TraceEntry) -> Bool {
            if let device = entry.device {
                if let account = entry.account {
                    if accounts.count >= TraceStore.pendingLimit, accounts[device] == nil {
                        accounts.removeAll(keepingCapacity: true)
                    }
                    accounts[device] = account
                } else if let account = accounts[device] {
                    entry.owner = .account(account)
                }
            }
            guard entries.records.count < TraceStore.pendingLimit else { return false }
            if let owner = entry.owner, entries.records.count >= TraceStore.pendingLimit / 2 {
                let count = count(of: owner)
                guard count < TraceStore.pendingLimit / TraceStore.partsOfPending else { return false }
                owned[owner] = count + 1
            }
            entries.append(entry)
            return true
        }

        /// The number of an owner's entries; counting starts only once there are many.
        private mutating func count(of owner: TraceEntry.Owner) -> Int {
            if owned.isEmpty {
                for owner in entries.records.lazy.compactMap(\.owner) { owned[owner, default: 0] += 1 }
            }
            return owned[owner, default: 0]
        }

        /// Removes and returns the entries due at `now`; all of them if this `isLast`.
        mutating func take(at now: Timestamp, isLast: Bool) -> Taken {
            var taken = Taken(
                devices: statuses.takeDue(at: now, all: isLast),
                pauses: pauses,
                hasOtherPauses: hasOtherPauses
            )
            swap(&entries, &taken.entries)
            swap(&entries, &free)
            (owned, hasOtherPauses, isScheduled) = ([:], false, false)
            return taken
        }

        /// The time until waiting statuses must be written; nil: none wait, or a write is scheduled. The caller must
        /// schedule the write.
        mutating func pauseOfStatuses(at now: Timestamp) -> Duration? {
            // Statuses that need not wait are written with the entries that came with them.
            guard !areStatusesScheduled, let due = statuses.due, due > now else { return nil }
            areStatusesScheduled = true
            return min(max(due - now, TraceStore.delay), PendingStatuses.span)
        }

        /// Recycles the memory of written entries, which would otherwise be megabytes of allocations.
        mutating func reuse(_ written: inout TraceRecords) {
            guard written.records.capacity <= TraceStore.freeLimit,
                written.fields.bytes.capacity <= TraceStore.freeFieldLimit
            else { return }
            swap(&free, &written)
            free.removeAll()
        }
    }

    /// The content of one write.
    private struct Taken {
        var entries = TraceRecords()
        let devices: [DeviceID: DeviceStatus]
        let pauses: [QueueName: TracedPause]
        let hasOtherPauses: Bool

        var isEmpty: Bool { entries.records.isEmpty && devices.isEmpty && !hasOtherPauses }
    }

    /// The maximum of entries that wait for a slow disk: about 15 MB.
    static let pendingLimit = 50_000
    /// The maximum of entries, and of bytes for their fields, whose memory is kept: about 5 MB.
    private static let freeLimit = 16_384
    private static let freeFieldLimit = 2 << 20
    /// Once half of the limit is waiting, an account may have at most one of this many parts.
    private static let partsOfPending = 8
    /// How long entries wait to be written together.
    private static let delay: Duration = .milliseconds(100)

    private let now: @Sendable () -> Timestamp
    private let pending = Mutex(Pending())
    private let writer: Mutex<TraceWriter>
    private let lost = Atomic<Int>(0)
    private let queue = DispatchQueue(label: "carillon trace")

    /// The file at `path` is opened or created with the first entry, readable only by this user.
    package init(
        path: String,
        limits: TraceLimits = TraceLimits(),
        now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) {
        self.now = now
        writer = Mutex(TraceWriter(path: path, limits: limits, logger: logger))
    }

    /// The number of entries that were lost because the disk was too slow or refused, or strangers caused too many.
    package var shed: Int { lost.load(ordering: .relaxed) }

    /// Drops expired entries immediately, and again after each `pause` of an hour, until that throws because the task
    /// is cancelled. Without this they would be dropped only with the next entry.
    package func dropExpired(pause: () async throws -> Void = { try await Task.sleep(for: .seconds(3600)) }) async {
        repeat {
            await withCheckedContinuation { continuation in
                queue.async { [self] in
                    let isClosed = pending.withLock { $0.isClosed }
                    if !isClosed { writer.withLock { $0.dropExpired(at: now()) } }
                    continuation.resume()
                }
            }
        } while (try? await pause()) != nil
    }

    /// Removes the trace at `path` of an earlier router, and its damaged copy. Another program's database stays.
    package static func discard(path: String, logger: Logger) {
        let file = TraceSchema.file(at: path)
        do {
            guard try !file.exists || !file.isForeign else { throw TraceError.foreign(path) }
            file.remove()
            file.removeDamaged()
            if file.exists { throw TraceError.failed(path, reason: "it cannot be removed") }
        } catch {
            let error = TraceError(error, path: path)
            logger.warning("Failed to remove the event trace", metadata: ["error": "\(error)"])
        }
    }

    /// Returns once everything received is written, or lost.
    package func flush() {
        queue.sync { writePending(isLast: true) }
    }

    /// Writes the waiting entries and closes the file. Later entries are lost.
    package func close() {
        pending.withLock { $0.isClosed = true }
        queue.sync {
            writePending(isLast: true)
            writer.withLock { $0.close() }
        }
    }

    /// Runs `body` while no write happens.
    func holding(_ body: () -> Void) {
        queue.sync(execute: body)
    }

    /// Adds `count` entries. `entry` makes each one from its index on demand, because a copy of the source would retain
    /// its strings.
    @inline(__always)
    private func add(_ count: Int, _ entry: (Int) -> TraceEntry, _ take: (inout Pending) -> Void = { _ in }) {
        let (shed, mustSchedule) = pending.withLock { pending -> (Int, Bool) in
            guard !pending.isClosed else { return (count, false) }
            var shed = 0
            for place in 0..<count {
                var entry = entry(place)
                if !pending.take(&entry) { shed += 1 }
            }
            take(&pending)
            defer { pending.isScheduled = true }
            return (shed, !pending.isScheduled)
        }
        if shed > 0 { lost.add(shed, ordering: .relaxed) }
        if mustSchedule { schedule() }
    }

    /// Changes pending data other than entries.
    private func change(_ body: (inout Pending) -> Void) {
        let mustSchedule = pending.withLock { pending -> Bool in
            guard !pending.isClosed else { return false }
            body(&pending)
            defer { pending.isScheduled = true }
            return !pending.isScheduled
        }
        if mustSchedule { schedule() }
    }

    private func schedule() {
        queue.asyncAfter(deadline: .now() + .milliseconds(Int(Self.delay.milliseconds))) { [weak self] in
            self?.writePending(isLast: false)
        }
    }

    private func writePending(isLast: Bool) {
        let now = now()
        var taken = pending.withLock { $0.take(at: now, isLast: isLast) }
        let (shed, mustSchedule) = writer.withLock { writer -> (Int, Bool) in
            guard !taken.isEmpty || writer.waiting > 0 else { return (0, false) }
            let shed = writer.write(taken.entries, taken.devices, taken.pauses, isLast: isLast, at: now)
            return (shed, writer.waiting > 0)
        }
        lost.add(shed, ordering: .relaxed)
        let (isFirst, pause) = pending.withLock { pending -> (Bool, Duration?) in
            pending.reuse(&taken.entries)
            defer { pending.isScheduled = pending.isScheduled || mustSchedule }
            return (!pending.isScheduled, pending.pauseOfStatuses(at: now))
        }
        // Waiting data is written soon, even if no more arrives.
        if mustSchedule, isFirst { schedule() }
        if let pause { writeStatuses(in: pause) }
    }

    private func writeStatuses(in pause: Duration) {
        queue.asyncAfter(deadline: .now() + .milliseconds(Int(pause.milliseconds))) { [weak self] in
            guard let self else { return }
            pending.withLock { $0.areStatusesScheduled = false }
            writePending(isLast: false)
        }
    }
}

extension TraceStore: PipelineObserver {
    package func record(_ counts: [PipelineStep: Int]) {}

    package func trace(_ steps: [TraceStep], at time: Timestamp) {
        add(steps.count) { TraceEntry(steps[$0], at: time) }
    }
}

extension TraceStore: DeliveryObserver {
    package func deliveriesReported(_ reports: [DeliveryReport]) {
        let time = now()
        add(reports.count) {
            TraceEntry(reports[$0], at: time)
        } _: { pending in
            for place in reports.indices {
                pending.statuses.take(
                    reports[place].device,
                    reports[place].kind,
                    status: reports[place].status,
                    reason: reports[place].reason,
                    at: time,
                    limit: Self.pendingLimit
                )
            }
        }
    }

    package func deliveriesPostponed(_ reports: [DeliveryReport]) {
        let time = now()
        add(reports.count) { TraceEntry(reports[$0], at: time) }
    }

    package func queuePaused(_ pause: QueuePause) {
        let time = now()
        change { pending in
            let former = pending.pauses[pause.queue]
            let isTheSame = former?.pause.cause == pause.cause && former?.pause.reason == pause.reason
            pending.pauses[pause.queue] = TracedPause(pause, since: isTheSame ? former?.since ?? time : time)
            pending.hasOtherPauses = true
        }
    }

    package func queueResumed(_ queue: QueueName) {
        change { pending in
            pending.pauses[queue] = nil
            pending.hasOtherPauses = true
        }
    }
}
