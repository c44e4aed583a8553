import Core
import Delivery
import Foundation
import Logging
import Registry
import Storage
import Synchronization

/// The way of a batch of events: through the ``EventRouter``, to disk, and back to its senders. Belongs to one thread.
///
///     arrivals → router, event by event → one transaction on disk → answers
///
/// Events come in batches. What a batch leads to is kept in one transaction, and its senders are answered after that:
/// an OK means that nothing is lost. An event that lacks a name or a note waits for it beyond its batch, unanswered.
package final class Pipeline {
    /// The source of events, and of the ends of fetches.
    let intake: Intake
    /// Beats while events are worked on, so that others can tell work from being stuck.
    let heartbeat = PipelineProgress()
    let gauges = PipelineGauges()
    private(set) var settings: PipelineSettings

    let router: EventRouter
    private let storage: PipelineStorage
    private let dependencies: PipelineDependencies
    private let trouble: FailureLog
    private var answers = Answers()

    /// Loads the index of `registry`, which this pipeline owns from now on, and takes events from `intake`. `feed`: only
    /// what concerns its accounts is this pipeline's. Throws when the disk cannot be read.
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
        trouble = FailureLog("Deliveries cannot be kept; their events are not accepted", logger: dependencies.logger)
        router = try EventRouter(settings, registry, feed: feed, intake: intake, storage, dependencies)
    }

    /// Works on what arrived, in its order. A submission is answered when everything that any event of the batch wakes
    /// is kept, and when none of its own waits any longer.
    ///
    /// `following` is what the next call will be about: its signatures are checked meanwhile.
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

    /// How long events may be waited for; nil: without limit.
    var patience: Duration? { router.patience(at: dependencies.now()) }

    /// Ends all waiting: events that wait for context go on without it, and everything is written. Once, at the end.
    package func finish() {
        var batch = OpenBatch(at: dependencies.now(), logger: dependencies.logger)
        router.endWaiting(&batch)
        conclude(&batch, answering: [])
        router.end(at: batch.time)
    }

    /// Everything that the batch leads to goes to disk together; only then are its events finished, and answered.
    private func conclude(_ batch: inout OpenBatch, answering arrived: [Submission]) {
        router.conclude(&batch, isKept: keep(batch.effects))
        answers.deliver(batch.verdicts, to: arrived)
        let (log, observer) = (batch.effects.log, dependencies.observer)
        observer.record(log.counts)
        if !log.filtered.isEmpty { observer.filtered(log.filtered) }
        if !log.leftOut.isEmpty { observer.leftOut(log.leftOut) }
        if !log.trace.isEmpty { observer.trace(log.trace, at: batch.time) }
    }

    /// Puts everything on disk in one transaction; false when it refused.
    private func keep(_ effects: Effects) -> Bool {
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

    /// Applies settings, each in its turn, and reports the result.
    func adopt(_ changes: [SettingsChange]) {
        for change in changes { change.completion(Result { try adopt(change.settings) }) }
    }

    /// Applies other settings, between two batches. Events that wait for context are decided by them too. Throws,
    /// and keeps the old ones, when the registry cannot be read. Where and how long events wait for context stays as it
    /// was at the start.
    func adopt(_ new: PipelineSettings) throws {
        try router.adopt(new, insteadOf: settings)
        settings = new
    }
}

/// The one thread that a pipeline lives on.
package final class PipelineThread: Sendable {
    private static let patienceForOwners: Duration = .seconds(3)

    private let finished = DispatchSemaphore(value: 0)
    private let intake: Intake
    private let heartbeat: PipelineProgress
    package let gauges: PipelineGauges

    /// Starts a thread that feeds `pipeline` from its intake until that is closed and empty.
    ///
    /// While the outbox is full, by `isFull`, nothing is processed; sources then get no answers and stop reading. A
    /// closed intake is emptied all the same, and nothing waits for context any longer.
    package init(
        isFull: @escaping @Sendable () -> Bool,
        pipeline: sending Pipeline
    ) {
        // The pipeline moves to its thread and is never seen by another again.
        nonisolated(unsafe) let pipeline = pipeline
        let finished = finished
        let intake = pipeline.intake
        self.intake = intake
        heartbeat = pipeline.heartbeat
        gauges = pipeline.gauges
        let thread = Thread {
            var following: Arrivals?
            while let arrivals = following ?? intake.next(within: pipeline.patience) {
                pipeline.adopt(arrivals.settings)
                while isFull(), !intake.isClosed {
                    pipeline.heartbeat.beat()
                    Thread.sleep(forTimeInterval: 0.05)
                    // They may be what is to help.
                    pipeline.adopt(intake.takeSettings())
                }
                following = intake.nextPortion()
                pipeline.process(arrivals, before: following)
            }
            // What is on its way to other owners mostly ends within milliseconds.
            let deadline = Deadline.now() + Self.patienceForOwners
            while pipeline.router.awaitsOwners, Deadline.now() < deadline {
                Thread.sleep(forTimeInterval: 0.02)
                if let arrivals = intake.next() { pipeline.process(arrivals) }
            }
            pipeline.finish()
            finished.signal()
        }
        // The system takes 15 characters, and leaves a thread with a longer name without one.
        thread.name = "carillon-events"
        thread.stackSize = 4 << 20
        thread.start()
    }

    /// Whether the thread comes round within `patience`; waiting for the outbox is coming round too.
    package func comesRound(
        within patience: Duration,
        pause: @Sendable () async throws -> Void = { try await Task.sleep(for: .milliseconds(20)) }
    ) async -> Bool {
        let before = heartbeat.count
        intake.nudge()
        let end = Deadline.now() + patience
        while heartbeat.count == before {
            guard Deadline.now() < end, (try? await pause()) != nil else { return false }
        }
        return true
    }

    /// Returns when everything in the closed intake is processed. Once.
    package func join() async {
        // Not on the caller's thread: there may be no other one for what the pipeline waits for.
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [finished] in
                finished.wait()
                continuation.resume()
            }
        }
    }
}

/// How much waits in a pipeline as of its last batch, for other threads to read.
package final class PipelineGauges: Sendable {
    private let devices = Atomic<Int>(0)
    private let events = Atomic<Int>(0)

    package init() {}

    /// Devices for which something is held back until their time comes.
    package var waitingDevices: Int { devices.load(ordering: .relaxed) }
    /// Events that wait for a name or a note.
    package var waitingEvents: Int { events.load(ordering: .relaxed) }

    func set(waitingDevices: Int, waitingEvents: Int) {
        devices.store(waitingDevices, ordering: .relaxed)
        events.store(waitingEvents, ordering: .relaxed)
    }
}

/// How often the pipeline's thread has come round. One that stands still while there is work is stuck.
package final class PipelineProgress: Sendable {
    private let beats = Atomic<UInt64>(0)

    package init() {}

    package var count: UInt64 { beats.load(ordering: .relaxed) }

    package func beat() {
        beats.add(1, ordering: .relaxed)
    }
}
