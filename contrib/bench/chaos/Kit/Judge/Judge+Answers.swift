import Delivery
import Notifications

extension Judge {
    /// What plugins were told of each request is what the lab says became of it.
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

    /// Each request is about its delivery, and nothing in it is wrong.
    static func checkMessages(_ evidence: Evidence, _ verdict: inout Verdict) {
        for (index, sending) in evidence.record.journal.sendings.enumerated() {
            let place = evidence.delivery(of: sending)
            let delivery = evidence.record.population.deliveries[place]
            for arrival in evidence.arrivals[index] {
                if case .refused(let status) = arrival.fate, arrival.conduct == nil {
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
}

extension Arrival {
    /// Nil where there was no answer.
    fileprivate var status: Int? {
        switch fate {
        case .accepted(let status), .refused(let status): status
        case .unprocessed, .unanswered: nil
        }
    }
}
