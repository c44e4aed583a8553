import Delivery
import Foundation
import Logging
import Nostr
import Notifications
import Registry
import Storage
import Units

/// The way of a batch of events: through the ``EventStages``, to disk, and back to its senders. Belongs to one thread.
///
///     arrivals → stages, event by event → one transaction on disk → answers
///
/// Events come in batches. What a batch leads to is kept in one transaction, and its senders are answered after that:
/// an OK means that nothing is lost. An event that lacks a name or a note waits for it beyond its batch, unanswered.
package final class Pipeline {
    /// The source of events, and of the ends of fetches.
    let intake: Intake
    /// Beats while events are worked on, so that others can tell work from being stuck.
    package let heartbeat = PipelineProgress()
    package let gauges = PipelineGauges()
    /// The rules, filters, defaults and the like that are in force.
    private(set) var settings: PipelineSettings

    private let recorder: BatchRecorder
    private let stages: EventStages
    private var answers = Answers()
    private var portion: PortionSize
    private let watch: WaitWatch
    private let now: @Sendable () -> Timestamp

    /// How many threads check signatures at a time: one more than there are cores, so that each core has work while the
    /// pipeline's thread waits for the disk. With one core nothing is gained by checking ahead.
    package static var signatureThreads: Int {
        let cores = ProcessInfo.processInfo.activeProcessorCount
        return cores > 1 ? cores + 1 : 1
    }

    /// Loads the index of `registry`, which this pipeline owns from now on, and takes events from `intake`. `accepted`
    /// are events that were accepted before this process began. `feed`: only what concerns its accounts is this
    /// pipeline's. `deliveryID` names a delivery, the same for the same event and device. `keep` puts deliveries on
    /// disk, with the events that shall wake no device again (``Effects/causes``) and the changes of paces, and starts
    /// the courier, or throws. So many `threads` check signatures at a time. Throws when the registry cannot be read.
    package init(
        settings: PipelineSettings,
        registry: Registry,
        intake: Intake,
        dependencies: PipelineDependencies = PipelineDependencies(),
        accepted: [EventID] = [],
        feed: IndexFeed? = nil,
        threads: Int = Pipeline.signatureThreads,
        deliveryID: @escaping @Sendable (EventID, DeviceID) -> DeliveryID,
        keep: @escaping ([Delivery], _ causes: [EventID], PaceChanges) throws -> Void,
        now: @escaping @Sendable () -> Timestamp,
        watch: WaitWatch = .system,
        observer: any PipelineObserver,
        logger: Logger
    ) throws {
        self.settings = settings
        self.intake = intake
        self.now = now
        self.watch = watch
        portion = PortionSize(least: intake.leastPortion)
        recorder = BatchRecorder(keep: keep, observer: observer, logger: logger)
        let trouble = FailureLog(
            "The registry cannot be read or written; what needs it is not accepted",
            logger: logger
        )
        let stage = try RegistryStage(registry, feed: feed, settings, dependencies, trouble: trouble)
        var gate = Gate(purposes: Purposes(settings, stage.recipientLists, dependencies, keys: stage.keys))
        for id in accepted { gate.remember(id) }
        let context = try EventContext(settings, logger: logger)
        let partition = Partition(
            settings: settings,
            registry: registry,
            feed: feed,
            dependencies: dependencies,
            deliveryID: deliveryID,
            trouble: trouble,
            now: now
        )
        var accounts = AccountStages(partition, context, ContextDemand(settings), intake: intake, dependencies)
        try accounts.load(stage.index, at: now())
        stages = EventStages(gate, stage, accounts, threads: threads, dependencies, now: now)
    }

    /// Works on what arrived, in its order. A submission is answered when everything that any event of the batch wakes
    /// is kept, and when none of its own waits any longer.
    ///
    /// `following` is what the next call will be about: its signatures are checked meanwhile.
    package func process(_ arrivals: Arrivals, before following: Arrivals? = nil) {
        heartbeat.beat()
        let begin = watch.time()
        let events = arrivals.submissions.reduce(0) { $0 + $1.events.count }
        var batch = OpenBatch(recorder.begin(at: now()), expecting: events)
        stages.begin(at: batch.time, arrivals.ends)
        stages.admit(arrivals.submissions, before: following?.submissions, from: answers.next, &batch) {
            heartbeat.beat()
        }
        stages.goOn(arrivals, &batch)
        let waited = conclude(&batch, answering: arrivals.submissions)
        stages.rest(at: batch.time)
        portion.took(watch.time() - begin, waiting: waited, for: events)
        gauges.set(waitingDevices: stages.waitingDevices, waitingEvents: stages.waitingEvents)
        intake.awaitEnds(stages.waitingDevices > 0)
        intake.handOut(portion.events)
    }

    /// How long events may be waited for; nil: without limit.
    package var patience: Duration? { stages.patience(at: now()) }

    /// Whether owners have not answered for everything yet.
    package var awaitsOwners: Bool { stages.awaitsOwners }

    /// Ends all waiting: events that wait for context go on without it, and everything is written. Once, at the end.
    package func finish() {
        var batch = OpenBatch(recorder.begin(at: now()))
        stages.endWaiting(&batch)
        conclude(&batch, answering: [])
        stages.end(at: batch.time)
    }

    /// Everything that the batch leads to goes to disk at once; only then are its events done with, and answered.
    /// Returns how long the disk was waited for.
    @discardableResult
    private func conclude(_ batch: inout OpenBatch, answering arrived: [Submission]) -> Duration {
        var waited = Duration.zero
        stages.conclude(&batch) { effects in
            var isKept = false
            waited = watch.waiting { isKept = recorder.keep(effects) }
            return isKept
        }
        answers.deliver(batch.verdicts, to: arrived)
        recorder.report(batch.effects)
        return waited
    }

    /// Puts settings in force, each in its turn, and says so.
    func adopt(_ changes: [SettingsChange]) {
        for change in changes { change.completion(Result { try adopt(change.settings) }) }
    }

    /// Puts other settings in force, between two batches. Events that wait for context are decided by them too. Throws,
    /// and keeps the old ones, when the registry cannot be read. Where and how long events wait for context stays as it
    /// was at the start.
    func adopt(_ new: PipelineSettings) throws {
        try stages.adopt(new, inPlaceOf: settings)
        settings = new
    }
}
