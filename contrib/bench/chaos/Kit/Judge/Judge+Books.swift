import Delivery
import Notifications

extension Judge {
    /// One final report each, one report for each attempt, an empty outbox, and rules kept.
    static func checkBooks(_ evidence: Evidence, _ verdict: inout Verdict) {
        let record = evidence.record
        for (index, course) in evidence.courses.enumerated() {
            let finals = course.reports.filter(\.kind.isFinal)
            if finals.count != 1 {
                let words = finals.map(\.kind.name).joined(separator: ", ")
                verdict.fail(.endsOnce, "\(evidence.name(index)) ended \(finals.count) times: \(words)")
            }
            guard let last = course.reports.last, let end = finals.first else { continue }
            if !last.kind.isFinal {
                verdict.fail(.endsOnce, "\(evidence.name(index)) was reported \(last.kind.name) after its end")
            }
            let made = course.attempts.count
            // Only a device that is registered no more ends a delivery without an attempt.
            if course.reports.count != made + (end.kind == .unregistered ? 1 : 0) || end.attempt != made {
                verdict.fail(
                    .endsOnce,
                    "\(evidence.name(index)): \(made) attempts were made, \(course.reports.count) reported, "
                        + "\(end.attempt) counted"
                )
            }
        }
        for report in evidence.unknownReports {
            verdict.fail(.endsOnce, "\(report.delivery), which nobody ordered, was reported \(report.kind.name)")
        }
        if record.leftInOutbox != 0 {
            verdict.fail(.endsOnce, "\(record.leftInOutbox) deliveries are left in the outbox")
        }
        if record.wasStuck {
            verdict.fail(.endsOnce, "no delivery ended for \(record.plan.patience) s, and some were open")
        }
        for failure in record.journal.outboxFailures { verdict.fail(.rulesKept, "the outbox failed: \(failure)") }
        for mistake in record.pluginMistakes { verdict.fail(.rulesKept, "a plugin broke the ABI's rules: \(mistake)") }
        if record.journal.strays > 0 {
            verdict.fail(.rulesKept, "\(record.journal.strays) requests were made for devices with nothing under way")
        }
    }

    /// Delivered means accepted, gone means told so, and nothing else may become of a delivery.
    static func checkEnds(_ evidence: Evidence, _ verdict: inout Verdict) {
        for (index, course) in evidence.courses.enumerated() {
            guard let end = evidence.end(index), let device = evidence.device(of: index) else { continue }
            let isMortal = device.requestsBeforeDeath != nil
            switch end.kind {
            case .delivered:
                guard let (status, arrival) = last(course, evidence), (200..<300).contains(status),
                    arrival?.fate == .accepted(status: status)
                else {
                    verdict.fail(
                        .delivered,
                        "\(evidence.name(index)) is called delivered, and the lab did not accept it"
                    )
                    continue
                }
            case .gone where isMortal:
                guard let (status, _) = last(course, evidence), status == 404 || status == 410 else {
                    verdict.fail(.delivered, "\(evidence.name(index)) is called gone, and the lab did not say so")
                    continue
                }
                checkForgotten(device, index, evidence, &verdict)
            case .unregistered where isMortal:
                checkForgotten(device, index, evidence, &verdict)
            default:
                verdict.fail(
                    .nothingLost,
                    "\(evidence.name(index)) ended as \(end.kind.name) (\(end.status) \(end.reason)) after "
                        + "\(end.attempt) attempts, and its device \(isMortal ? "had gone" : "lives")"
                )
            }
        }
        for device in evidence.record.population.devices where device.requestsBeforeDeath == nil {
            guard !evidence.record.registered.contains(device.id.rawValue) else { continue }
            verdict.fail(
                .nothingLost,
                "device \(device.id.rawValue) (\(device.transport.rawValue)) lives and was forgotten"
            )
        }
    }

    private static func checkForgotten(
        _ device: ChaosDevice,
        _ delivery: Int,
        _ evidence: Evidence,
        _ verdict: inout Verdict
    ) {
        guard evidence.record.registered.contains(device.id.rawValue) else { return }
        verdict.fail(.delivered, "\(evidence.name(delivery)): its device is gone and still registered")
    }

    /// The answer to the last request, and what the lab says of it.
    private static func last(_ course: Evidence.Course, _ evidence: Evidence) -> (status: Int, arrival: Arrival?)? {
        guard let sending = course.sendings.last,
            case .answered(let status) = evidence.record.journal.sendings[sending].end
        else { return nil }
        return (status, evidence.arrivals[sending].last)
    }
}
