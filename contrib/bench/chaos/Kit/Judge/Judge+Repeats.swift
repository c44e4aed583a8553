import CarillonLab

extension Judge {
    /// A message that may have come before may come again only where no answer told us of it.
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
                cause: RepeatCause(before.arrival.conduct, reason: reason),
                isCertain: before.arrival.isAccepted && arrival.isAccepted
            )
        )
    }
}

extension RepeatCause {
    /// `reason` is what the lanes said of a request that met `conduct`.
    init(_ conduct: Misbehaviour.Conduct?, reason: String) {
        switch conduct {
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
}
