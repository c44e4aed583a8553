import CarillonLab
import Delivery
import Push

/// Checks a record against all properties that must hold despite failures.
package enum Judge {
    package static func judge(_ record: ChaosRecord) -> Verdict {
        let evidence = Evidence(record)
        var verdict = Verdict()
        checkBooks(evidence, &verdict)
        checkEnds(evidence, &verdict)
        checkOrder(evidence, &verdict)
        checkAnswers(evidence, &verdict)
        checkMessages(evidence, &verdict)
        checkRepeats(evidence, &verdict)
        return verdict
    }

    /// Returns the error in a message that came for `device`; nil: none.
    static func flaw(
        in arrival: Arrival,
        for device: ChaosDevice?,
        _ id: DeliveryID,
        _ notification: Notification
    ) -> String? {
        guard arrival.target == device?.target, arrival.transport == device?.transport else {
            return "it went to another device"
        }
        guard let texts = arrival.texts else {
            return "its message cannot be read: \(arrival.complaint ?? "it is no JSON")"
        }
        if let complaint = arrival.complaint { return complaint }
        guard texts.contains(notification.title), texts.contains(notification.body) else {
            return "its message has other texts"
        }
        // APNs has the id in a header, all others in the message.
        let hasID = arrival.transport == .apns ? arrival.messageID == "\(id)" : texts.contains("\(id)")
        return hasID ? nil : "its message has another id"
    }

    /// Checks that plugins got the result of each request that the lab recorded.
    static func checkAnswers(_ evidence: Evidence, _ verdict: inout Verdict) {
        for (index, sending) in evidence.record.journal.sendings.enumerated() {
            let name = evidence.name(evidence.delivery(of: sending))
            let arrivals = evidence.arrivals[index]
            for arrival in arrivals.dropLast() where arrival.fate != .unprocessed {
                verdict.fail(
                    .resendsAreSafe,
                    "\(name): a request was sent again by itself after the lab had dealt with it (\(arrival.fate))"
                )
            }
            switch sending.end {
            case .answered(let status):
                guard arrivals.last?.status == status else {
                    let seen = arrivals.last.map { "\($0.fate)" } ?? "nothing"
                    verdict.fail(.answersMatch, "\(name): we were told \(status), and the lab says \(seen)")
                    continue
                }
            case .failed(let reason, mayHaveBeenProcessed: false):
                guard let seen = arrivals.first(where: \.mayHaveArrived) else { continue }
                verdict.fail(
                    .answersMatch,
                    "\(name): a request failed as \(reason), provably unprocessed, and the lab says \(seen.fate)"
                )
            case .failed, nil: break
            }
        }
        for stray in evidence.strays {
            verdict.fail(.answersMatch, "the lab got a request to \(stray.transport.rawValue) that we did not send")
        }
    }

    /// Checks that each request belongs to its delivery, and has no errors.
    static func checkMessages(_ evidence: Evidence, _ verdict: inout Verdict) {
        for (index, sending) in evidence.record.journal.sendings.enumerated() {
            let place = evidence.delivery(of: sending)
            let delivery = evidence.record.population.deliveries[place]
            for arrival in evidence.arrivals[index] {
                if case .refused(let status) = arrival.fate, arrival.behavior == nil {
                    verdict.fail(
                        .refusalsAreOrdered,
                        "\(evidence.name(place)) was refused with \(status): \(arrival.complaint ?? "no reason")"
                    )
                    continue
                }
                if let flaw = flaw(in: arrival, for: evidence.device(of: place), delivery.id, delivery.notification) {
                    verdict.fail(.sameMessage, "\(evidence.name(place)): \(flaw)")
                }
            }
        }
    }

    /// One final report each, one report for each attempt, an empty outbox, and rules kept.
    static func checkBooks(_ evidence: Evidence, _ verdict: inout Verdict) {
        let record = evidence.record
        for (index, course) in evidence.courses.enumerated() {
            let finals = course.reports.filter(\.kind.isFinal)
            if finals.count != 1 {
                let words = finals.map(\.kind.rawValue).joined(separator: ", ")
                verdict.fail(.endsOnce, "\(evidence.name(index)) ended \(finals.count) times: \(words)")
            }
            guard let last = course.reports.last, let end = finals.first else { continue }
            if !last.kind.isFinal {
                verdict.fail(.endsOnce, "\(evidence.name(index)) was reported \(last.kind.rawValue) after its end")
            }
            let made = course.attempts.count
            // Only a device that is no longer registered ends a delivery without an attempt.
            if course.reports.count != made + (end.kind == .unregistered ? 1 : 0) || end.attempt != made {
                verdict.fail(
                    .endsOnce,
                    "\(evidence.name(index)): \(made) attempts were made, \(course.reports.count) reported, "
                        + "\(end.attempt) counted"
                )
            }
        }
        for report in evidence.unknownReports {
            verdict.fail(.endsOnce, "\(report.delivery), which nobody ordered, was reported \(report.kind.rawValue)")
        }
        if record.leftInOutbox != 0 {
            verdict.fail(.endsOnce, "\(record.leftInOutbox) deliveries are left in the outbox")
        }
        if record.wasStuck {
            verdict.fail(.endsOnce, "no delivery ended for \(record.plan.timeout) s, and some were open")
        }
        for failure in record.journal.outboxFailures { verdict.fail(.rulesKept, "the outbox failed: \(failure)") }
        for mistake in record.pluginMistakes { verdict.fail(.rulesKept, "a plugin broke the ABI's rules: \(mistake)") }
        if record.journal.strays > 0 {
            verdict.fail(.rulesKept, "\(record.journal.strays) requests were made for devices with nothing under way")
        }
    }

    /// Checks that delivered means accepted, gone means reported as gone, and only allowed results occur.
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
                    "\(evidence.name(index)) ended as \(end.kind.rawValue) (\(end.status) \(end.reason)) after "
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

    /// Returns the response to the last request, and the lab's record of it.
    private static func last(_ course: Evidence.Course, _ evidence: Evidence) -> (status: Int, arrival: Arrival?)? {
        guard let sending = course.sendings.last,
            case .answered(let status) = evidence.record.journal.sendings[sending].end
        else { return nil }
        return (status, evidence.arrivals[sending].last)
    }

    /// Attempts for one device follow each other, and each request lies within its attempt.
    static func checkOrder(_ evidence: Evidence, _ verdict: inout Verdict) {
        let journal = evidence.record.journal
        var latest: [DeviceID: (ended: Int?, delivery: Int)] = [:]
        for attempt in journal.attempts {
            let device = evidence.record.population.deliveries[attempt.delivery].device
            if let before = latest[device], before.ended.map({ $0 > attempt.began }) ?? true {
                verdict.fail(
                    .oneAtATime,
                    "\(evidence.name(attempt.delivery)) was attempted while \(evidence.name(before.delivery)) was, "
                        + "for the same device"
                )
            }
            latest[device] = (attempt.ended, attempt.delivery)
        }
        var inAttempt: [Int: Int?] = [:]
        for sending in journal.sendings {
            let attempt = journal.attempts[sending.attempt]
            guard let ended = sending.ended else {
                verdict.fail(.answersMatch, "\(evidence.name(attempt.delivery)): a request never ended")
                continue
            }
            let isInside = attempt.began < sending.began && attempt.ended.map { ended < $0 } ?? false
            let isAlone = inAttempt[sending.attempt].map { $0.map { $0 < sending.began } ?? false } ?? true
            if !isInside || !isAlone {
                verdict.fail(
                    .oneAtATime,
                    "\(evidence.name(attempt.delivery)): a request went on beside another or beyond its attempt"
                )
            }
            inAttempt[sending.attempt] = ended
        }
    }

    /// Checks that a message that may have arrived is repeated only after a request without a response.
    static func checkRepeats(_ evidence: Evidence, _ verdict: inout Verdict) {
        let journal = evidence.record.journal
        for (index, course) in evidence.courses.enumerated() {
            guard let transport = evidence.device(of: index)?.transport else { continue }
            var before: (arrival: Arrival, end: Journal.End?)?
            for sending in course.sendings {
                for arrival in evidence.arrivals[sending] where arrival.mayHaveArrived {
                    if let before {
                        note(arrival, after: before, transport, evidence.name(index), &verdict)
                    }
                    before = (arrival, journal.sendings[sending].end)
                }
            }
        }
    }

    private static func note(
        _ arrival: Arrival,
        after before: (arrival: Arrival, end: Journal.End?),
        _ transport: ChaosTransport,
        _ name: String,
        _ verdict: inout Verdict
    ) {
        guard case .failed(let reason, mayHaveBeenProcessed: true) = before.end else {
            let told = before.end.map { "\($0)" } ?? "nothing"
            return verdict.fail(.repeatsExplained, "\(name) was repeated after we were told: \(told)")
        }
        verdict.repeats.append(
            Verdict.Repeat(
                transport: transport,
                cause: RepeatCause(before.arrival.behavior, reason: reason),
                isCertain: before.arrival.isAccepted && arrival.isAccepted
            )
        )
    }
}

extension RepeatCause {
    /// `reason` is the lanes' reason for a request that met `behavior`.
    init(_ behavior: ScriptedBehavior.Action?, reason: String) {
        switch behavior {
        case .silence: self = .silence
        case .reset: self = .reset
        case .close, .cut: self = .dropped
        case .delay where reason == "timeout": self = .late
        default: self = reason == "timeout" ? .slowMachine : .droppedWithAnother
        }
    }
}

extension Arrival {
    fileprivate var isAccepted: Bool { if case .accepted = fate { true } else { false } }

    /// Nil if there was no response.
    fileprivate var status: Int? {
        switch fate {
        case .accepted(let status), .refused(let status): status
        case .unprocessed, .unanswered: nil
        }
    }
}
