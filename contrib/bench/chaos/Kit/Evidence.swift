import Delivery
import Push

/// A record, sorted by delivery.
struct Evidence {
    /// The history of one delivery.
    struct Course {
        /// Indices into the journal's attempts.
        var attempts: [Int] = []
        /// Indices into the journal's sendings, in order.
        var sendings: [Int] = []
        var reports: [DeliveryReport] = []
    }

    let record: ChaosRecord
    /// In the population's order.
    let courses: [Course]
    /// By sending, in the lab's order.
    let arrivals: [[Arrival]]
    /// Arrivals that match none of our requests.
    let strays: [Arrival]
    /// Reports of unknown deliveries.
    let unknownReports: [DeliveryReport]

    init(_ record: ChaosRecord) {
        self.record = record
        let journal = record.journal
        var courses = Array(repeating: Course(), count: record.population.deliveries.count)
        for (index, attempt) in journal.attempts.enumerated() { courses[attempt.delivery].attempts.append(index) }
        for (index, sending) in journal.sendings.enumerated() {
            courses[journal.attempts[sending.attempt].delivery].sendings.append(index)
        }
        var unknown: [DeliveryReport] = []
        for report in journal.reports {
            if let index = record.population.index(of: report.delivery) {
                courses[index].reports.append(report)
            } else {
                unknown.append(report)
            }
        }
        var arrivals = Array(repeating: [Arrival](), count: journal.sendings.count)
        var strays: [Arrival] = []
        for arrival in record.arrivals {
            if let sending = arrival.sending, arrivals.indices.contains(sending) {
                arrivals[sending].append(arrival)
            } else {
                strays.append(arrival)
            }
        }
        self.courses = courses
        self.arrivals = arrivals
        self.strays = strays
        unknownReports = unknown
    }

    func delivery(of sending: Journal.Sending) -> Int { record.journal.attempts[sending.attempt].delivery }

    /// A delivery as failures name it.
    func name(_ delivery: Int) -> String {
        let known = record.population.deliveries[delivery]
        return "\(known.platform) delivery \(delivery) (\(known.id))"
    }

    func device(of delivery: Int) -> ChaosDevice? {
        record.population.device(record.population.deliveries[delivery].device)
    }

    /// How a delivery ended; nil: not at all.
    func end(_ delivery: Int) -> DeliveryReport? { courses[delivery].reports.first { $0.kind.isFinal } }
}

/// The result of each check of a run.
package struct Verdict: Sendable {
    /// A property that must hold.
    package enum Proof: String, CaseIterable, Sendable, Codable {
        case endsOnce = "every delivery ends exactly once in the books"
        case delivered = "what is called delivered was accepted, and what is gone was called so"
        case nothingLost = "every push to a living device arrives"
        case oneAtATime = "never two attempts at once for a device"
        case sameMessage = "the same message with the same id over all attempts"
        case answersMatch = "each answer belongs to its request"
        case refusalsAreOrdered = "the lab refuses nothing that it was not told to"
        case resendsAreSafe = "only what was provably not processed is resent by itself"
        case repeatsExplained = "every repeat follows an attempt that may have been processed"
        case rulesKept = "plugins and outbox keep to their rules"
    }

    package struct Failure: Sendable, Hashable, Codable {
        package let proof: Proof
        /// The delivery, and its error.
        package let text: String
    }

    /// A message that may have come twice to a device.
    package struct Repeat: Sendable {
        package let transport: ChaosTransport
        package let cause: RepeatCause
        /// The push service accepted both; otherwise it may have.
        package let isCertain: Bool
    }

    package internal(set) var failures: [Failure] = []
    package internal(set) var repeats: [Repeat] = []

    package func failures(of proof: Proof) -> [Failure] { failures.filter { $0.proof == proof } }

    mutating func fail(_ proof: Proof, _ text: String) { failures.append(Failure(proof: proof, text: text)) }
}

/// The reason why an attempt was repeated although the one before it may have been processed.
package enum RepeatCause: String, CaseIterable, Sendable, Codable {
    case silence = "no answer"
    case late = "answer too late"
    case reset = "stream reset"
    case dropped = "connection dropped"
    /// The connection was dropped because of another request on it.
    case droppedWithAnother = "connection dropped for another"
    /// The machine was slow; the delay was not injected.
    case slowMachine = "machine too slow"
}
