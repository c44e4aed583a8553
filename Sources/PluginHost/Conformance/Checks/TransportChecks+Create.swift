extension TransportChecks {
    static func createEmpty(_ bench: TransportBench) throws(CheckStop) -> String {
        let (refusal, instance) = bench.create(Array("{}".utf8))
        bench.note(refusal, of: "an empty configuration")
        guard let instance else { return "it refuses, saying: \(refusal.said)" }
        bench.configuration = "{}"
        instance.destroy()
        return ""
    }

    static func createConfigured(_ bench: TransportBench) throws(CheckStop) -> String {
        guard let configuration = bench.plan.configurations[bench.platform] else {
            throw .skipped(
                bench.configuration == nil
                    ? "it needs a configuration and none was given: without one most checks cannot run"
                    : "none was given; {} does"
            )
        }
        let (refusal, instance) = bench.create(Array(configuration.utf8))
        bench.note(refusal, of: "the configuration given")
        guard let instance else {
            bench.configuration = nil
            throw .failed("it refuses the configuration given, saying: \(refusal.said)")
        }
        bench.configuration = configuration
        instance.destroy()
        return ""
    }

    static func createHostile(_ bench: TransportBench) throws(CheckStop) -> String {
        let given = Array((bench.configuration ?? "{}").utf8)
        let halved = ("the configuration, cut in the middle", Array(given[..<(given.count / 2)]))
        for (what, configuration) in HostileInput.configurations + [halved] {
            bench.at(what)
            let (refusal, instance) = bench.create(configuration)
            bench.note(refusal, of: what)
            instance?.destroy()
        }
        for capacity in [0, 1, 7] {
            bench.at("room for \(capacity) bytes of error")
            let (refusal, instance) = bench.create(Array("[1".utf8), capacity: capacity)
            bench.note(refusal, of: "a configuration, with room for \(capacity) bytes of error")
            instance?.destroy()
        }
        return ""
    }

    static func errorText(_ bench: TransportBench) throws(CheckStop) -> String {
        for (what, refusal) in bench.refusals where !refusal.flaw.isEmpty {
            throw .failed("of \(what): \(refusal.flaw)")
        }
        guard bench.refusals.contains(where: \.refusal.isRefused) else { throw .skipped("it refused nothing") }
        return ""
    }
}
