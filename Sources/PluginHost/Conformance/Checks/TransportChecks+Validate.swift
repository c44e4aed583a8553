import CarillonABI

extension TransportChecks {
    static func validate(_ bench: TransportBench) throws(CheckStop) -> String {
        guard bench.functions.validate != nil else { throw .skipped("it has no validate") }
        let instance = try bench.instance()
        let samples = Samples.parcels(bench)
        let inputs = samples.map { ("a usual registration", $0) } + HostileInput.registrations(of: samples)
        var first: [Refusal] = []
        for (what, parcel) in inputs {
            bench.at(what)
            guard let refusal = instance.validate(parcel) else { continue }
            bench.note(refusal, of: what)
            first.append(refusal)
        }
        // A second round, for an answer may depend on what was asked before.
        for (before, (what, parcel)) in zip(first, inputs) {
            bench.at("\(what), again")
            guard let again = instance.validate(parcel) else { continue }
            guard again.status == before.status, again.said == before.said else {
                throw .failed(
                    "of \(what) it said \(word(before)) and then \(word(again)): validate must be pure, so that the "
                        + "same registration gets the same answer every time"
                )
            }
        }
        for (what, parcel) in inputs.prefix(samples.count + 2) {
            for capacity in [0, 1, 7] {
                guard let refusal = instance.validate(parcel, capacity: capacity) else { continue }
                bench.note(refusal, of: "\(what), with room for \(capacity) bytes of error")
            }
        }
        guard instance.host.log.requests.isEmpty else {
            throw .failed("validate makes HTTP requests: it must do no I/O")
        }
        instance.destroy()
        return ""
    }

    private static func word(_ refusal: Refusal) -> String {
        refusal.isRefused ? "no (\(refusal.status.rawValue): \(refusal.said))" : "yes"
    }
}
