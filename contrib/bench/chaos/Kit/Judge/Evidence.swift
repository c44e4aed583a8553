import Delivery
import Notifications

/// A record, sorted by delivery.
struct Evidence {
    /// What became of one delivery.
    struct Course {
        /// Places in the journal's attempts.
        var attempts: [Int] = []
        /// Places in the journal's sendings, in order.
        var sendings: [Int] = []
        var reports: [DeliveryReport] = []
    }

    let record: ChaosRecord
    /// By the population's order.
    let courses: [Course]
    /// By sending, in the lab's order.
    let arrivals: [[Arrival]]
    /// Those that belong to no sending of ours.
    let strays: [Arrival]
    /// Reports of deliveries that nobody ordered.
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
