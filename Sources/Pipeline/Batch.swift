import Core
import Delivery
import Logging
import Nostr
import Push
import Registry

/// The results of a batch of events: the writes for one transaction, and the steps that led to them.
struct BatchWrite {
    /// The time of the whole batch.
    let time: Timestamp
    var log: StepLog
    private(set) var deliveries: [Delivery] = []
    /// The events that must not notify again after a restart: the sources of `deliveries`, and some that notified no
    /// device.
    private(set) var causes: [EventID] = []
    /// The zap requests within `causes`.
    private(set) var zapRequests: Set<EventID> = []
    /// Contact lists that send no notification. They are finished when the registry has written them.
    private(set) var baselineLists: [EventID] = []
    /// The number of times that an event was held for a device.
    private(set) var held = 0
    /// The number of pushes, made or held, that are neither alerts nor silent.
    private(set) var special = 0
    /// Events that authors took back or replaced, and that may still be queued.
    private(set) var withdrawals: [Withdrawal] = []
    /// When the last device that holds the current event is due. Nil if none holds it, or if the sender did not ask.
    private(set) var heldUntil: Timestamp?
    private var asksHeldUntil = false
    /// The changes to devices' paces; nil if the batch writes nothing.
    private(set) var pace: PaceChanges?
    /// The error that makes this batch fail before it is written.
    private(set) var failure: (any Error)?

    init(at time: Timestamp, log: StepLog) {
        self.time = time
        self.log = log
    }

    /// Whether there is anything to write apart from paces.
    var hasChanges: Bool { !deliveries.isEmpty || !causes.isEmpty || !withdrawals.isEmpty }

    /// The number of pushes made or held.
    var woken: Int { deliveries.count + held }

    /// Adds the delivery of a notification about `event` to a device.
    mutating func deliver(
        _ notification: Notification,
        id: DeliveryID,
        for event: EventID,
        to target: TargetDevice,
        reason: @autoclosure () -> String
    ) {
        log.note(.queued, event, target.account, target.device, reason(), delivery: id)
        deliveries.append(
            Delivery(
                id: id,
                device: target.device,
                platform: target.route.platform,
                app: target.route.app,
                notification: notification,
                acceptedAt: time
            )
        )
    }

    /// Notes that a group holds an event for a device. The event becomes part of the delivery `id`.
    mutating func hold(
        _ event: EventID,
        for target: TargetDevice,
        as id: DeliveryID,
        in group: HeldGroup,
        _ reason: HoldReason,
        until: @autoclosure () -> Timestamp?
    ) {
        held += 1
        if asksHeldUntil { heldUntil = [heldUntil, until()].compactMap(\.self).max() }
        let step = group.count == 1 ? PipelineStep.held : .batched
        log.note(step, event, target.account, target.device, reason.rawValue, delivery: id)
    }

    /// Starts the next event. `asksHeldUntil` is whether its sender gets the time until which devices hold it.
    mutating func begin(asksHeldUntil: Bool) { (self.asksHeldUntil, heldUntil) = (asksHeldUntil, nil) }

    mutating func add(cause event: EventID) { causes.append(event) }

    mutating func add(zapRequest event: EventID) {
        zapRequests.insert(event)
        causes.append(event)
    }

    mutating func add(baselineList event: EventID) { baselineLists.append(event) }

    mutating func noteSpecial() { special += 1 }

    mutating func withdraw(_ more: [Withdrawal]) { withdrawals += more }

    mutating func set(_ pace: PaceChanges) {
        self.pace = pace
        self.pace?.withdrawn = withdrawals
    }

    mutating func fail(_ error: any Error) { failure = error }
}

/// The result of an event, for its sender and for the trace.
struct EventOutcome {
    enum Status {
        /// It passed all stages, and is finished when the batch is on disk.
        case finished(EventDecision.Result)
        /// It is processed no further, and may be sent again.
        case stopped(EventDecision.Result)
        /// It keeps waiting after this batch.
        case waits
        /// Its processing continues elsewhere.
        case open
    }

    let event: EventID
    let end: Status
    /// Nil if the trace has the step already.
    var step: PipelineStep?
    var account: PublicKey?
    var device: DeviceID?
    var reason = ""

    static func notKept(_ event: EventID, account: PublicKey? = nil) -> EventOutcome {
        EventOutcome(event: event, end: .stopped(.notKept), step: .notKept, account: account)
    }
}

/// A batch in progress.
struct OpenBatch {
    var effects: BatchWrite
    var decisions = Decisions()
    let time: Timestamp

    init(at time: Timestamp, logger: Logger) {
        self.time = time
        effects = BatchWrite(at: time, log: StepLog(logger: logger))
    }

    /// Stops processing an event, with the decision about it.
    mutating func stop(_ step: PipelineStep, _ decision: EventDecision) {
        effects.log.note(step, decision.id)
        decisions.stop(decision)
    }

    mutating func note(_ outcome: EventOutcome) {
        effects.log.note(outcome)
        decisions.note(outcome.end, of: outcome.event)
    }

    /// Marks these events as not kept, because a later write failed.
    mutating func retract(_ events: [EventID]) {
        for id in decisions.retract(events) { effects.log.note(.notKept, id) }
    }

    /// Ends the batch. `isKept` is whether the disk took it, `hasLists` whether the registry wrote its contact lists.
    /// Returns the finished events and those that may be sent again.
    mutating func conclude(isKept: Bool, hasLists: Bool) -> (done: Set<EventID>, open: [EventID]) {
        effects.log.settle(isKept: isKept)
        if !hasLists { retract(effects.baselineLists) }
        let (done, open, notKept) = decisions.conclude(isKept: isKept)
        for id in notKept { effects.log.note(.notKept, id) }
        return (done, open)
    }
}
