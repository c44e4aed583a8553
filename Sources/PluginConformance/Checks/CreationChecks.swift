/// What transports and filters are checked for when they are created.
enum CreationChecks {
    static func createEmpty(_ bench: Bench<some EntryFunctions>) throws(CheckStop) -> String {
        let refusal = bench.tryToCreate(Array("{}".utf8))
        bench.note(refusal, of: "an empty configuration")
        guard !refusal.isRefused else { return "it refuses, saying: \(refusal.said)" }
        bench.configuration = "{}"
        return ""
    }

    static func createConfigured(_ bench: Bench<some EntryFunctions>) throws(CheckStop) -> String {
        guard let given = bench.given else {
            throw .skipped(
                bench.configuration == nil
                    ? "it needs a configuration and none was given: without one most checks cannot run"
                    : "none was given; {} does"
            )
        }
        let configuration = try bench.withFiles(given)
        let refusal = bench.tryToCreate(Array(configuration.utf8))
        bench.note(refusal, of: "the configuration given")
        guard !refusal.isRefused else {
            bench.configuration = nil
            throw .failed("it refuses the configuration given, saying: \(refusal.said)")
        }
        bench.configuration = configuration
        return ""
    }

    static func createHostile(_ bench: Bench<some EntryFunctions>) throws(CheckStop) -> String {
        let given = Array((bench.configuration ?? "{}").utf8)
        let halved = ("the configuration, cut in the middle", Array(given[..<(given.count / 2)]))
        for (what, configuration) in HostileInput.configurations + [halved] {
            bench.at(what)
            bench.note(bench.tryToCreate(configuration), of: what)
        }
        for capacity in [0, 1, 7] {
            bench.at("room for \(capacity) bytes of error")
            let refusal = bench.tryToCreate(Array("[1".utf8), capacity: capacity)
            bench.note(refusal, of: "a configuration, with room for \(capacity) bytes of error")
        }
        return ""
    }

    static func errorText(_ bench: Bench<some EntryFunctions>) throws(CheckStop) -> String {
        for (what, refusal) in bench.refusals where !refusal.flaw.isEmpty {
            throw .failed("of \(what): \(refusal.flaw)")
        }
        guard bench.refusals.contains(where: \.refusal.isRefused) else { throw .skipped("it refused nothing") }
        return ""
    }
}
