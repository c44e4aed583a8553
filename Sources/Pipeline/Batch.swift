import Delivery
import Nostr
import Notifications
import Registry

/// What the stages made of the events of one batch, until it is kept and answered.
struct Batch {
    static let notKept = EventVerdict.Result.refused("error: could not be kept, try again later")

    var log: StepLog
    /// Milliseconds since 1970, for the whole batch.
    let time: Int64
    var deliveries: [Delivery] = []
    /// The events that `deliveries` are for, and those that shall wake nobody after a restart either.
    var causes: [EventID] = []
    /// How often an event waits for a device's time.
    var paced = 0
    /// Why nothing of this batch can be kept, found out before it was tried.
    var cannotBeKept: (any Error)?
    var contactLists: [ContactList] = []
    /// The events of those that wake nobody: nothing else is kept of them.
    var baselineLists: [EventID] = []
    /// The requests of the zaps that deliveries are for.
    var zapRequests: Set<EventID> = []
    /// Registrations and lists in a row, for one transaction.
    var held = HeldEvents()
    /// Events that waited before this batch, in the order of their verdicts, which are the last ones.
    private(set) var resumed: [Parked] = []
    /// One for each event, in order.
    private(set) var verdicts: [EventVerdict] = []
    /// Where the verdicts are that this batch does not bring, in ascending order.
    private(set) var waiting: [Int] = []
    /// Verified events, and where their verdicts are.
    private var positions: [EventID: Int] = [:]
    private var finished: Set<EventID> = []
    /// Where the verdicts of further copies of those are.
    private var copies: [(EventID, Int)] = []

    init(log: StepLog, time: Int64) {
        self.log = log
        self.time = time
    }

    /// How often a device is woken, now or in its time.
    var woken: Int { deliveries.count + paced }

    func contains(_ id: EventID) -> Bool { positions[id] != nil }

    /// An event goes no further.
    mutating func stop(_ step: PipelineStep, _ verdict: EventVerdict) {
        log.note(step, event: verdict.id)
        verdicts.append(verdict)
    }

    /// A verified event sets out; how it ends is said later in this batch.
    mutating func begin(_ id: EventID) {
        positions[id] = verdicts.count
        verdicts.append(EventVerdict(id: id, .accepted))
    }

    /// One that waited sets out again.
    mutating func resume(_ parked: Parked) {
        resumed.append(parked)
        begin(parked.event.id)
    }

    /// An event that set out goes no further, and may come again.
    mutating func end(
        _ id: EventID,
        _ step: PipelineStep,
        _ result: EventVerdict.Result,
        account: PublicKey? = nil,
        device: DeviceID? = nil,
        reason: @autoclosure () -> String = ""
    ) {
        log.note(step, event: id, account: account, device: device, reason: reason())
        guard let position = positions[id] else { return }
        verdicts[position].result = result
    }

    /// An event that set out went all the way; it is done with once the batch is kept.
    mutating func finish(_ id: EventID, _ result: EventVerdict.Result = .accepted) {
        finished.insert(id)
        guard let position = positions[id] else { return }
        verdicts[position].result = result
    }

    /// Events that went all the way, and of which the disk did not take what there was to keep after all.
    mutating func retract(_ ids: [EventID]) {
        for id in ids where finished.remove(id) != nil { end(id, .notKept, Self.notKept) }
    }

    /// An event that set out waits beyond this batch.
    mutating func wait(_ id: EventID) {
        guard let position = positions.removeValue(forKey: id) else { return }
        waiting.append(position)
    }

    /// Another copy of an event that set out; it is as well off as that one.
    mutating func addCopy(_ id: EventID) {
        log.note(.duplicate, event: id)
        copies.append((id, verdicts.count))
        verdicts.append(EventVerdict(id: id, .duplicate))
    }

    /// Another copy of an event that waits beyond this batch.
    mutating func addWaitingCopy(_ id: EventID) {
        log.note(.duplicate, event: id)
        waiting.append(verdicts.count)
        verdicts.append(EventVerdict(id: id, .duplicate))
    }

    /// The events that set out and are done with, and those that may come again. Copies get their verdicts. `isKept` says
    /// whether what the batch wakes is on disk.
    mutating func conclude(isKept: Bool) -> (done: Set<EventID>, open: [EventID]) {
        if !isKept {
            for id in finished { end(id, .notKept, Self.notKept) }
            finished = []
        }
        for (id, position) in copies {
            guard let original = positions[id] else { continue }
            verdicts[position].result = verdicts[original].result.ofCopy
            if !verdicts[position].result.isFinal { log.note(.notKept, event: id) }
        }
        return (finished, positions.keys.filter { !finished.contains($0) })
    }
}
