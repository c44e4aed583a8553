import Delivery
import Logging
import Nostr
import Storage
import Units

/// A batch that is worked on.
struct OpenBatch {
    var effects: Effects
    var verdicts = Verdicts()

    /// Some `events` are expected in it.
    init(_ effects: Effects, expecting events: Int = 0) {
        self.effects = effects
        verdicts.expect(events)
    }

    var time: Timestamp { effects.time }

    /// An event goes no further, and its verdict is given.
    mutating func stop(_ step: PipelineStep, _ verdict: EventVerdict) {
        effects.log.note(step, verdict.id)
        verdicts.stop(verdict)
    }

    mutating func note(_ outcome: EventOutcome) {
        effects.log.note(outcome)
        verdicts.note(outcome.end, of: outcome.event)
    }

    /// The disk did not take everything of these events after all.
    mutating func retract(_ events: [EventID]) {
        for id in verdicts.retract(events) { effects.log.note(.notKept, id) }
    }

    /// Ends the batch, which the disk took or refused; `hasLists`: it has the contact lists. Returns the events that
    /// are done with, and those that may come again.
    mutating func conclude(isKept: Bool, hasLists: Bool) -> (done: Set<EventID>, open: [EventID]) {
        effects.log.settle(isKept: isKept)
        if !hasLists { retract(effects.baselineLists) }
        let (done, open, notKept) = verdicts.conclude(isKept: isKept)
        for id in notKept { effects.log.note(.notKept, id) }
        return (done, open)
    }
}

/// Begins batches, puts what they lead to on disk, and reports their steps.
struct BatchRecorder {
    private let put: ([Delivery], _ causes: [EventID], PaceChanges) throws -> Void
    private let observer: any PipelineObserver
    private let logger: Logger
    private let trouble: FailureLog

    init(
        keep: @escaping ([Delivery], _ causes: [EventID], PaceChanges) throws -> Void,
        observer: any PipelineObserver,
        logger: Logger
    ) {
        put = keep
        self.observer = observer
        self.logger = logger
        trouble = FailureLog("Deliveries cannot be kept; their events are not accepted", logger: logger)
    }

    func begin(at now: Timestamp) -> Effects { Effects(at: now, log: StepLog(logger: logger)) }

    /// Puts everything on disk in one transaction; false when it refused.
    func keep(_ effects: Effects) -> Bool {
        guard let pace = effects.pace else { return true }
        do {
            if let failure = effects.failure { throw failure }
            try put(effects.deliveries, effects.causes, pace)
            trouble.passed(at: effects.time)
            return true
        } catch {
            trouble.occurred(error, at: effects.time)
            return false
        }
    }

    func report(_ effects: Effects) {
        let log = effects.log
        observer.record(log.counts)
        if !log.filtered.isEmpty { observer.filtered(log.filtered) }
        if !log.leftOut.isEmpty { observer.leftOut(log.leftOut) }
        if !log.trace.isEmpty { observer.trace(log.trace, at: effects.time) }
    }
}
