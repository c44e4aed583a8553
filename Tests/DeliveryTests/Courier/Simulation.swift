import Core
import GRDB
import Push
import RandomTestSupport
import TimeTestSupport

@testable import Delivery

/// The state machine over a real outbox. Random inputs: late writes and pages, outcomes, clock, crashes.
struct Simulation {
    enum Write {
        case changes(OutboxChanges)
        case read(OutboxRead)
        case discard([QueueEntry])
    }

    enum Message {
        case event(CourierEvent)
        case drop([QueueEntry])
        case expedite([QueueEntry])
    }

    let outbox: Outbox
    private let database: any DatabaseWriter
    var queues: CourierQueues
    var random: SeededGenerator
    var now: Timestamp = 1_700_000_000_000
    private let limits: CourierLimits
    private var handedOver: [Message] = []
    private var writes: [Write] = []
    private var pages: [CourierEvent] = []
    private(set) var underWay: [Attempt] = []
    private(set) var ends: [DeliveryID: [DeliveryReport.Kind]] = [:]
    private(set) var reports = 0
    private(set) var peakInFlight = 0
    private(set) var peakHeld = 0
    private(set) var collisions = 0
    private(set) var pagesRead = 0
    /// Ids whose end a crash may have lost.
    private(set) var mayRepeat: Set<DeliveryID> = []
    private(set) var expedited = 0
    private(set) var droppedOnDisk = 0
    private var discards: [[QueueEntry]] = []
    private var wakeAt: Timestamp?
    var hosts = 0

    init(_ database: any DatabaseWriter, limits: CourierLimits, seed: UInt64) throws {
        self.database = database
        outbox = try Outbox(database)
        self.limits = limits
        random = SeededGenerator(seed: seed)
        queues = CourierQueues(
            limits: limits,
            policy: RetryPolicy(),
            waiting: try outbox.waitingQueues(),
            random: SeededGenerator(seed: seed)
        )
    }

    var isIdle: Bool { outbox.count == 0 && underWay.isEmpty && writes.isEmpty && handedOver.isEmpty && pages.isEmpty }

    mutating func accept(_ deliveries: [Delivery]) throws {
        var accepted: [StoredDelivery] = []
        try outbox.insert(deliveries) { accepted = $0 }
        if Int.random(in: 0..<5, using: &random) == 0 {
            for stored in accepted {
                let name = QueueName(platform: stored.delivery.platform, app: stored.delivery.app)
                handedOver.append(
                    .event(.left(StoredQueue(number: stored.key.queue, name: name, last: stored.key)))
                )
            }
        } else {
            handedOver.append(.event(.accepted(accepted)))
        }
    }

    /// Makes one random step.
    mutating func step(_ answer: (StoredDelivery, inout SeededGenerator) -> Outcome) throws {
        switch Int.random(in: 0..<10, using: &random) {
        case 0, 1:
            guard !handedOver.isEmpty else { return }
            switch handedOver.removeFirst() {
            case .event(let event): handle(event)
            case .drop(let entries):
                act { simulation, actions in
                    let drop = simulation.queues.drop(entries, into: &actions)
                    simulation.discards.append(drop.absent)
                }
            case .expedite(let entries):
                act { simulation, actions in
                    simulation.expedited += simulation.queues.expedite(entries, now: simulation.now, into: &actions)
                }
            }
        case 2, 3:
            try write()
        case 4:
            if !pages.isEmpty { handle(pages.removeFirst()) }
        case 5:
            advance()
        default:
            guard !underWay.isEmpty else { return }
            let attempt = underWay.remove(at: Int.random(in: 0..<underWay.count, using: &random))
            handle(.ended(attempt, answer(attempt.stored, &random)))
        }
    }

    /// Drops everything except the disk.
    mutating func crash() throws {
        mayRepeat.formUnion(underWay.map(\.stored.delivery.id))
        for case .changes(let changes) in writes {
            let removed = Set(changes.removals)
            mayRepeat.formUnion(idsOnDisk().filter { removed.contains($0.key) }.map(\.value))
        }
        (handedOver, writes, pages, underWay, wakeAt) = ([], [], [], [], nil)
        queues = CourierQueues(
            limits: limits,
            policy: RetryPolicy(),
            waiting: try outbox.waitingQueues(),
            random: random
        )
        handle(.wake)
    }

    private func idsOnDisk() -> [OutboxKey: DeliveryID] {
        let rows = try? database.read {
            try Row.fetchAll($0, sql: "SELECT number, id FROM outbox_delivery").map { row in
                (OutboxKey(rawValue: row[0]), DeliveryID(row[1]) ?? .unknown)
            }
        }
        return Dictionary(uniqueKeysWithValues: rows ?? [])
    }

    private mutating func advance() {
        now += .milliseconds(Int64.random(in: 0..<50, using: &random))
        if underWay.isEmpty, let wakeAt { now = max(now, wakeAt) }
        handle(.wake)
    }

    private mutating func write() throws {
        guard !writes.isEmpty else { return }
        switch writes.removeFirst() {
        case .changes(let changes):
            try outbox.apply(changes)
        case .discard(let entries):
            let present = try outbox.present(entries.compactMap(\.key))
            var changes = OutboxChanges()
            changes.removals = Array(present)
            try outbox.apply(changes)
            for entry in entries where entry.key.map(present.contains) ?? false {
                ends[entry.id, default: []].append(.discarded)
                droppedOnDisk += 1
            }
        case .read(let read):
            pagesRead += 1
            let page =
                switch read.part {
                case .firstTries(let after): try outbox.firstTries(of: read.number, after: after, limit: read.limit)
                case .retries(let place): try outbox.retries(of: read.number, from: place, limit: read.limit)
                }
            pages.append(.page(read, page))
        }
    }

    /// An operator drops some of the deliveries that wait now, or retries them immediately.
    mutating func operate() throws {
        let all = try database.read {
            try QueueRows.entries(QueueSelection(), from: .start, limit: 10_000, isWanted: { _ in true }, $0)
        }
        var chosen: [QueueEntry] = []
        for entry in all where entry.key != nil && Int.random(in: 0..<4, using: &random) == 0 { chosen.append(entry) }
        handedOver.append(Bool.random(using: &random) ? .drop(chosen) : .expedite(chosen))
    }

    private mutating func handle(_ event: CourierEvent) {
        act { simulation, actions in simulation.queues.handle(event, now: simulation.now, into: &actions) }
    }

    private mutating func act(_ body: (inout Simulation, inout CourierActions) -> Void) {
        var actions = CourierActions()
        body(&self, &actions)
        queues.advance(now: now, into: &actions)
        while true {
            keep(actions)
            guard !actions.lookups.isEmpty else { break }
            let lookups = actions.lookups
            actions = CourierActions()
            for attempt in lookups {
                let host = hosts > 0 ? "\(attempt.stored.delivery.device.rawValue % Int64(hosts))" : nil
                if queues.resolved(attempt, .found(host: host), now: now, into: &actions) { begin(attempt) }
            }
            queues.advance(now: now, into: &actions)
        }
        peakInFlight = max(peakInFlight, queues.queues.map(\.inFlight).max() ?? 0)
        peakHeld = max(peakHeld, queues.queues.map(\.devices.count).max() ?? 0)
    }

    private mutating func begin(_ attempt: Attempt) {
        let delivery = attempt.stored.delivery
        if underWay.contains(where: { $0.stored.delivery.device == delivery.device && $0.queue == attempt.queue }) {
            collisions += 1
        }
        underWay.append(attempt)
    }

    private mutating func keep(_ actions: CourierActions) {
        if !actions.changes.isEmpty { writes.append(.changes(actions.changes)) }
        // A page requested from now on does not contain them.
        writes += discards.map { .discard($0) } + actions.reads.map { .read($0) }
        discards = []
        reports += actions.reports.count
        for report in actions.reports where report.kind.isFinal {
            ends[report.delivery, default: []].append(report.kind)
        }
        wakeAt = actions.wakeAt
    }
}
