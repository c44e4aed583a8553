import PluginHost
import PluginServices

/// Timers, and what a plugin keeps.
enum ServiceChecks {
    /// What may stand in a database that was edited, or that another version of the plugin has written to.
    private static let oddValues: [(what: String, value: [UInt8])] = [
        ("a byte that is no text", [0xff]), ("a brace", Array("{".utf8)),
        ("a large number", Array("99999999999999999999".utf8)),
        ("16 KiB", [UInt8](repeating: 0x41, count: StateValues.valueLimit)),
    ]

    private static let unused = "it uses neither timers nor state"

    static func transport(_ bench: TransportBench) throws(CheckStop) -> String {
        let sample = try bench.knownSample()
        let first = try bench.regular()
        let log = first.host.log
        if let breach = log.breach(of: .services) {
            bench.broken.insert(.services)
            throw .failed(breach)
        }
        guard log.usesServices else { return unused }
        for (what, kept) in states(first.host) {
            bench.at("what is kept: \(what)")
            let instance = try bench.instance(keeping: kept, what)
            instance.deliver(sample)
            try bench.finish(instance, rules: [.completes, .completesOnce, .services])
        }
        return log.servicesInWords
    }

    static func filter(_ bench: FilterBench) throws(CheckStop) -> String {
        let inquiry = FilterSamples.regular[0].inquiry
        let first = try bench.instance()
        for sample in FilterSamples.regular { first.decide(sample.inquiry) }
        let log = first.host.log
        let states = states(first.host)
        first.destroy()
        if let breach = log.breach(of: .services) { throw .failed(breach) }
        guard log.usesServices else { return unused }
        for (what, kept) in states {
            bench.at("what is kept: \(what)")
            let filter = try bench.instance(keeping: kept, what)
            filter.decide(inquiry)
            filter.destroy()
        }
        return log.servicesInWords
    }

    /// What the next instance finds: what this one has left, and something else under the same keys.
    private static func states(_ host: CheckHost) -> [(what: String, kept: [StateEntry])] {
        let keys = host.log.stateKeys.sorted { $0.lexicographicallyPrecedes($1) }
        // All of them together may be no more than one may keep.
        let odd = oddValues.map { what, value in
            (what, keys.prefix(StateValues.totalLimit / value.count).map { StateEntry(key: $0, value: value) })
        }
        return [("its own", host.services.kept)] + (keys.isEmpty ? [] : odd)
    }
}

extension Bench {
    /// An instance with the configuration that works, for which `kept` is kept.
    fileprivate func instance(keeping kept: [StateEntry], _ what: String) throws(CheckStop) -> Instance {
        guard let configuration else { throw .skipped("no configuration is known that it takes") }
        guard let instance = create(Array(configuration.utf8), keeping: kept).instance else {
            throw .failed(
                "create refuses its configuration when \(what) is kept under its keys: go on as if nothing was kept"
            )
        }
        return instance
    }
}
