import Core
import Delivery
import Logging
import Nostr
import Push
import Registry

/// What a batch of events leads to: what goes to disk in one transaction, and the steps that led to it.
struct Effects {
    /// For the whole batch.
    let time: Timestamp
    var log: StepLog
    private(set) var deliveries: [Delivery] = []
    /// The events that wake no device again after a restart: those that `deliveries` are for, and some that woke none.
    private(set) var causes: [EventID] = []
    /// The requests of the zaps that `causes` include.
    private(set) var zapRequests: Set<EventID> = []
    /// Contact lists that wake no device. They are done with once the registry has written them.
    private(set) var baselineLists: [EventID] = []
    /// How often an event was held for a device.
    private(set) var held = 0
    /// How often a push was made or held that is neither an alert nor silent.
    private(set) var special = 0
    /// What authors took back and may still wait to be delivered.
    private(set) var withdrawals: [Withdrawal] = []
    /// When the last device that holds the event in hand is due; nil: that is not asked, or none holds it.
    private(set) var heldUntil: Timestamp?
    private var asksHeldUntil = false
    /// What becomes of devices' paces; nil: the batch needs nothing of the disk.
    private(set) var pace: PaceChanges?
    /// Why nothing of this batch can be kept, found out before it was tried.
    private(set) var failure: (any Error)?

    init(at time: Timestamp, log: StepLog) {
        self.time = time
        self.log = log
    }

    /// Whether there is anything for the disk besides paces.
    var hasChanges: Bool { !deliveries.isEmpty || !causes.isEmpty || !withdrawals.isEmpty }

    /// How often a device is woken, now or in its time.
    var woken: Int { deliveries.count + held }

    /// Adds a delivery of a notification to a device, made of `event`.
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

    /// An event waits for a device's time in a group, as part of the delivery `id`.
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

    /// Another event is in hand; `asksHeldUntil`: its sender is told until when devices hold it.
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

/// What became of an event, for its sender and for the trace.
struct EventOutcome {
    enum End {
        /// It went all the way, and is done with once the batch is kept.
        case finished(EventVerdict.Result)
        /// It goes no further, and may come again.
        case stopped(EventVerdict.Result)
        /// It waits beyond this batch.
        case waits
        /// Its way does not end here.
        case open
    }

    let event: EventID
    let end: End
    /// Nil: the trace has it already.
    var step: PipelineStep?
    var account: PublicKey?
    var device: DeviceID?
    var reason = ""

    static func notKept(_ event: EventID, account: PublicKey? = nil) -> EventOutcome {
        EventOutcome(event: event, end: .stopped(.notKept), step: .notKept, account: account)
    }
}

/// A batch that is worked on.
struct OpenBatch {
    var effects: Effects
    var verdicts = Verdicts()
    let time: Timestamp

    init(at time: Timestamp, logger: Logger) {
        self.time = time
        effects = Effects(at: time, log: StepLog(logger: logger))
    }

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
    /// are finished, and those that may come again.
    mutating func conclude(isKept: Bool, hasLists: Bool) -> (done: Set<EventID>, open: [EventID]) {
        effects.log.settle(isKept: isKept)
        if !hasLists { retract(effects.baselineLists) }
        let (done, open, notKept) = verdicts.conclude(isKept: isKept)
        for id in notKept { effects.log.note(.notKept, id) }
        return (done, open)
    }
}
