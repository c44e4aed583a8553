import ChaosKit
import Delivery
import Push
import TimeTestSupport

/// The record of a run without failures, made by hand: two deliveries per transport, each to a separate device.
/// Tests corrupt it.
enum FlawlessRecord {
    static func make() -> ChaosRecord {
        var plan = ChaosPlan(seed: 1, deliveries: 2 * ChaosTransport.allCases.count, weather: .calm)
        plan.deliveriesPerDevice = 1
        let population = Population(plan, now: 0)
        var record = ChaosRecord(
            plan: plan,
            population: population,
            journal: Journal(),
            arrivals: [],
            registered: Set(population.devices.map(\.id.rawValue)),
            leftInOutbox: 0
        )
        for delivery in population.deliveries.indices {
            record.attempt(
                delivery,
                ending: .answered(status: 200),
                as: Outcome(.delivered, status: 200, reason: "delivered")
            )
            record.arrive(delivery, .accepted(status: 200))
            record.report(delivery, .delivered, attempt: 1)
        }
        return record
    }
}

extension ChaosRecord {
    /// Records a whole attempt with one request, after all earlier records.
    mutating func attempt(_ delivery: Int, ending end: Journal.End, as outcome: Outcome) {
        let moment = 4 * journal.attempts.count
        journal.attempts.append(
            Journal.Attempt(delivery: delivery, began: moment, ended: moment + 3, outcome: outcome)
        )
        journal.sendings.append(
            Journal.Sending(attempt: journal.attempts.count - 1, began: moment + 1, ended: moment + 2, end: end)
        )
    }

    /// Records that the lab sees the latest request.
    mutating func arrive(_ delivery: Int, _ fate: Arrival.DeliveryResult) {
        let known = population.deliveries[delivery]
        guard let device = population.device(known.device) else { return }
        arrivals.append(
            Arrival(
                transport: device.transport,
                target: device.target,
                sending: journal.sendings.count - 1,
                fate: fate,
                messageID: known.id.description,
                texts: [known.id.description, known.notification.title, known.notification.body]
            )
        )
    }

    mutating func report(_ delivery: Int, _ kind: DeliveryReport.Kind, attempt: Int) {
        let known = population.deliveries[delivery]
        journal.reports.append(
            DeliveryReport(
                delivery: known.id,
                device: known.device,
                queue: QueueName(platform: known.platform, app: known.app),
                kind: kind,
                reason: "test",
                attempt: attempt
            )
        )
    }

    /// Removes the latest delivery's end, for another course.
    mutating func reopenLast() {
        journal.attempts.removeLast()
        journal.sendings.removeLast()
        journal.reports.removeLast()
        arrivals.removeLast()
    }
}
