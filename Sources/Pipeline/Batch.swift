import Delivery
import Nostr
import Registry

/// What the stages made of the events of one batch, until it is kept and answered.
struct Batch {
    static let notKept = "error: could not be kept, try again later"

    var log: StepLog
    /// Milliseconds since 1970, for the whole batch.
    let time: Int64
    var deliveries: [Delivery] = []
    /// The events that `deliveries` are for.
    var causes: [EventID] = []
    var contactLists: [ContactList] = []
    /// One for each event, in order.
    private(set) var verdicts: [EventVerdict] = []
    /// Events that went all the way, and where their verdicts are.
    private var finishedAt: [EventID: Int] = [:]
    /// Where the verdicts of further copies of those are.
    private var repeatedAt: [(EventID, Int)] = []

    init(log: StepLog, time: Int64) {
        self.log = log
        self.time = time
    }

    var finished: some Sequence<EventID> { finishedAt.keys }

    func contains(_ id: EventID) -> Bool { finishedAt[id] != nil }

    /// An event goes no further.
    mutating func stop(_ step: PipelineStep, _ verdict: EventVerdict) {
        log.note(step, event: verdict.id)
        verdicts.append(verdict)
    }

    /// An event went all the way; it is accepted once the batch is kept.
    mutating func finish(_ id: EventID) {
        finishedAt[id] = verdicts.count
        verdicts.append(EventVerdict(id: id, .accepted))
    }

    /// Another copy of an event that went all the way; it is as well off as that one.
    mutating func stopRepeated(_ id: EventID) {
        repeatedAt.append((id, verdicts.count))
        stop(.duplicate, EventVerdict(id: id, .duplicate))
    }

    /// The batch could not be kept.
    mutating func failFinished() {
        for (id, place) in finishedAt.map({ ($0, $1) }) + repeatedAt {
            verdicts[place].result = .refused(Self.notKept)
            log.note(.notKept, event: id)
        }
    }
}
