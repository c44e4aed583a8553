import Core
import Delivery
import Foundation
import Logging
import Registry
import Storage
import Synchronization

/// Processes batches of events: through the ``EventRouter``, to disk, and back to the senders. Must be used from one
/// thread.
///
///     arrivals → router, event by event → one transaction on disk → answers
///
/// The effects of a batch are written in one transaction, and its senders are answered after that: an OK means that no
/// push is lost. An event that lacks a name or a note waits for it after its batch, unanswered.
package final class Pipeline {
    /// The source of events and of fetch results.
    let intake: Intake
    /// Advances while events are processed, so that other threads can detect a stuck pipeline.
    let heartbeat = PipelineProgress()
    let gauges = PipelineGauges()
    private(set) var settings: PipelineSettings

    let router: EventRouter
    private let storage: PipelineStorage
    private let dependencies: PipelineDependencies
    private let trouble: ErrorLog
    private var answers = Answers()

    /// Loads the index of `registry`, which this pipeline then owns, and takes events from `intake`. If `feed` is
    /// given, the pipeline handles only its accounts. Throws if the disk cannot be read.
    package init(
        settings: PipelineSettings,
        registry: Registry,
        feed: IndexFeed? = nil,
        intake: Intake,
        storage: PipelineStorage,
        dependencies: PipelineDependencies
    ) throws {
        self.settings = settings
        self.intake = intake
        self.storage = storage
        self.dependencies = dependencies
        trouble = ErrorLog("Deliveries could not be stored; their events are refused", logger: dependencies.logger)
        router = try EventRouter(settings, registry, feed: feed, intake: intake, storage, dependencies)
    }

    /// Processes arrivals in order. A submission is answered when all pushes of its batch are on disk, and none of its
    /// own events waits any longer.
    ///
    /// `following` are the arrivals of the next call. Their signatures are checked at the same time.
    package func process(_ arrivals: Arrivals, before following: Arrivals? = nil) {
        heartbeat.beat()
        var batch = OpenBatch(at: dependencies.now(), logger: dependencies.logger)
        router.begin(at: batch.time, arrivals.ends)
        router.admit(arrivals.submissions, before: following?.submissions, from: answers.next, &batch) {
            heartbeat.beat()
        }
        router.resume(arrivals, &batch)
        conclude(&batch, answering: arrivals.submissions)
        router.rest(at: batch.time)
        gauges.set(waitingDevices: router.waitingDevices, waitingEvents: router.waitingEvents)
        intake.awaitEnds(router.waitingDevices > 0)
    }

    /// The timeout for waiting for more events; nil means no limit.
    var timeout: Duration? { router.timeout(at: dependencies.now()) }

    /// Ends all waiting: waiting events continue without their context, and everything is written. Called once, at
    /// shutdown.
    package func finish() {
        var batch = OpenBatch(at: dependencies.now(), logger: dependencies.logger)
        router.endWaiting(&batch)
        conclude(&batch, answering: [])
        router.end(at: batch.time)
    }

    /// Writes all effects of the batch together. Only then are its events finished and answered.
    private func conclude(_ batch: inout OpenBatch, answering arrived: [Submission]) {
        router.conclude(&batch, isKept: keep(batch.effects))
        answers.deliver(batch.decisions, to: arrived)
        let (log, observer) = (batch.effects.log, dependencies.observer)
        observer.record(log.counts)
        if !log.filtered.isEmpty { observer.filtered(log.filtered) }
        if !log.leftOut.isEmpty { observer.leftOut(log.leftOut) }
        if !log.trace.isEmpty { observer.trace(log.trace, at: batch.time) }
    }

    /// Writes everything in one transaction. Returns false if the disk refused it.
    private func keep(_ effects: BatchWrite) -> Bool {
        guard let pace = effects.pace else { return true }
        do {
            if let failure = effects.failure { throw failure }
            try storage.keep(effects.deliveries, effects.causes, pace)
            trouble.passed(at: effects.time)
            return true
        } catch {
            trouble.occurred(error, at: effects.time)
            return false
        }
    }

    /// Applies settings in order, and reports each result.
    func adopt(_ changes: [SettingsChange]) {
        for change in changes { change.completion(Result { try adopt(change.settings) }) }
    }

    /// Applies new settings between two batches, including to events that wait for context. Throws, and keeps the old
    /// settings, if the registry cannot be read. Where and how long events wait for context stays as it was at the
    /// start.
    func adopt(_ new: PipelineSettings) throws {
        try router.adopt(new, insteadOf: settings)
        settings = new
    }
}

/// The thread that runs a pipeline.
package final class PipelineThread: Sendable {
    private static let ownerTimeout: Duration = .seconds(3)

    private let finished = DispatchSemaphore(value: 0)
    private let intake: Intake
    private let heartbeat: PipelineProgress
    package let gauges: PipelineGauges

    /// Starts a thread that feeds `pipeline` from its intake until the intake is closed and empty.
    ///
    /// While `isFull` reports a full outbox, the thread pauses; sources get no answers and stop reading. A closed
    /// intake is emptied even then, and events no longer wait for context.
    package init(
        isFull: @escaping @Sendable () -> Bool,
        pipeline: sending Pipeline
    ) {
        // The pipeline moves to its thread, and no other thread uses it again.
        nonisolated(unsafe) let pipeline = pipeline
        let finished = finished
        let intake = pipeline.intake
        self.intake = intake
        heartbeat = pipeline.heartbeat
        gauges = pipeline.gauges
        let thread = Thread {
            var following: Arrivals?
            while let arrivals = following ?? intake.next(within: pipeline.timeout) {
                pipeline.adopt(arrivals.settings)
                while isFull(), !intake.isClosed {
                    pipeline.heartbeat.beat()
                    Thread.sleep(forTimeInterval: 0.05)
                    // The new settings may free space in the outbox.
                    pipeline.adopt(intake.takeSettings())
                }
                following = intake.nextPortion()
                pipeline.process(arrivals, before: following)
            }
            // Other owners usually answer within milliseconds.
            let deadline = Deadline.now() + Self.ownerTimeout
            while pipeline.router.hasPendingHandovers, Deadline.now() < deadline {
                Thread.sleep(forTimeInterval: 0.02)
                if let arrivals = intake.next() { pipeline.process(arrivals) }
            }
            pipeline.finish()
            finished.signal()
        }
        // Linux allows 15 characters. A longer name is not set at all.
        thread.name = "carillon-events"
        thread.stackSize = 4 << 20
        thread.start()
    }

    /// Whether the thread makes progress within `timeout`. Waiting for the outbox counts as progress.
    package func isResponsive(
        within timeout: Duration,
        pause: @Sendable () async throws -> Void = { try await Task.sleep(for: .milliseconds(20)) }
    ) async -> Bool {
        let before = heartbeat.count
        intake.nudge()
        let end = Deadline.now() + timeout
        while heartbeat.count == before {
            guard Deadline.now() < end, (try? await pause()) != nil else { return false }
        }
        return true
    }

    /// Waits until everything in the closed intake is processed. Call this once.
    package func join() async {
        // Does not block the caller's thread, because the pipeline may need that thread to finish.
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [finished] in
                finished.wait()
                continuation.resume()
            }
        }
    }
}

/// The number of waiting devices and events as of the last batch, readable from other threads.
package final class PipelineGauges: Sendable {
    private let devices = Atomic<Int>(0)
    private let events = Atomic<Int>(0)

    package init() {}

    /// The number of devices with held pushes.
    package var waitingDevices: Int { devices.load(ordering: .relaxed) }
    /// The number of events that wait for a name or a note.
    package var waitingEvents: Int { events.load(ordering: .relaxed) }

    func set(waitingDevices: Int, waitingEvents: Int) {
        devices.store(waitingDevices, ordering: .relaxed)
        events.store(waitingEvents, ordering: .relaxed)
    }
}

/// A counter that the pipeline's thread advances. If it stops while there is work, the pipeline is stuck.
package final class PipelineProgress: Sendable {
    private let beats = Atomic<UInt64>(0)

    package init() {}

    package var count: UInt64 { beats.load(ordering: .relaxed) }

    package func beat() {
        beats.add(1, ordering: .relaxed)
    }
}
