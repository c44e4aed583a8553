import CarillonABI
import Core
import Dispatch
import PluginHost

/// Checks memory, threads, cancellation and the end of an instance.
enum LifecycleChecks {
    private static var threadCount: Int { 4 }
    private static var deliveriesOfAThread: Int { 250 }

    static func cancel(_ bench: TransportBench) throws(CheckStop) -> String {
        let sample = try bench.knownSample()
        guard bench.functions.cancel != nil else { throw .skipped("it has no cancel") }
        try bench.onNewInstance { instance in
            instance.host.set(.hold)
            let tickets = (0..<4).map { _ in instance.deliver(sample).ticket }
            bench.at("a running ticket")
            for ticket in tickets.prefix(2) { instance.cancel(ticket) }
            bench.at("a ticket twice")
            for ticket in tickets.prefix(1) { instance.cancel(ticket) }
            bench.at("tickets that are not its own")
            for ticket in [0, 1, UInt64.max] { instance.cancel(ticket) }
            bench.at("the response after the cancel")
            instance.host.release(.nothing(because: "closed"))
            _ = bench.wait(for: instance, until: \.isIdle)
            bench.at("tickets that have ended")
            for ticket in tickets { instance.cancel(ticket) }
        }
        return ""
    }

    static func threads(_ bench: TransportBench) throws(CheckStop) -> String {
        let sample = try bench.knownSample()
        try bench.onNewInstance { instance in
            instance.host.set(.answer(Answer(200)))
            DispatchQueue.concurrentPerform(iterations: threadCount) { thread in
                for count in 0..<deliveriesOfAThread {
                    let (ticket, _) = instance.deliver(sample)
                    if count.isMultiple(of: 8) { _ = instance.validate(sample) }
                    if count.isMultiple(of: 16) { instance.cancel(ticket) }
                }
            }
            // Many concurrent ones may take as long as several.
            for _ in 0..<threadCount where bench.wait(for: instance, until: \.isIdle) { break }
        }
        return "\(threadCount * deliveriesOfAThread) deliveries from \(threadCount) threads"
    }

    static func shutdown(_ bench: TransportBench) throws(CheckStop) -> String {
        let sample = try bench.knownSample()
        try bench.onNewInstance { instance in
            instance.host.set(.hold)
            let tickets = (0..<16).map { _ in instance.deliver(sample).ticket }
            bench.at("cancel of all running deliveries")
            for ticket in tickets { instance.cancel(ticket) }
            bench.at("a delivery whose request the host refuses")
            instance.host.set(.refuse)
            instance.deliver(sample)
            bench.at("the failure of all requests")
            instance.host.release(.nothing(because: "shutdown"))
            _ = bench.wait(for: instance, until: \.isIdle)
            bench.at("destroy")
        }
        if let instance = try? bench.regular(), bench.wait(for: instance, until: \.isIdle) { instance.destroy() }
        return ""
    }

    static func borrowedMemory(_ bench: TransportBench) throws(CheckStop) -> String {
        try bench.requireStructs()
        let sample = try bench.knownSample()
        try bench.onNewInstance(.guarded) { instance in
            bench.at("validate")
            _ = instance.validate(sample, .guarded)
            let button = Parcel.Button(id: [97], label: [98], url: [99], icon: [100])
            let texts = sample.with { parcel in
                parcel.subtitle = Array("subtitle".utf8)
                parcel.data = Array(#"{"a":[1,2.5,true,null,"b"]}"#.utf8)
                parcel.native = Array("{}".utf8)
                parcel.buttons = [button, button]
            }
            for (what, answer) in [("200", Answer(200))] + HostileInput.answers {
                bench.at("deliver, with the response \(what)")
                instance.host.set(.answer(answer))
                instance.deliver(texts, .guarded)
            }
            _ = bench.wait(for: instance, until: \.isIdle)
        }
        return ""
    }

    static func newerHost(_ bench: TransportBench) throws(CheckStop) -> String {
        try bench.requireStructs()
        let sample = try bench.knownSample()
        try bench.onNewInstance(.guarded, .longer) { instance throws(CheckStop) in
            _ = instance.validate(sample, .guarded, .longer)
            guard instance.deliver(sample, .guarded, .longer).status == .CARILLON_OK else {
                throw .failed(
                    "it does not deliver when the host's structs are longer than it knows: compare struct_size with "
                        + "\">=\", or use CARILLON_HAS"
                )
            }
        }
        return ""
    }
}

/// Checks timers and stored state.
enum ServiceChecks {
    /// Values that may be in an edited database, or that another version of the plugin wrote.
    private static let oddValues: [(what: String, value: [UInt8])] = [
        ("invalid UTF-8", [0xff]), ("a brace", Array("{".utf8)),
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
            bench.at("a stored value: \(what)")
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
            bench.at("a stored value: \(what)")
            let filter = try bench.instance(keeping: kept, what)
            filter.decide(inquiry)
            filter.destroy()
        }
        return log.servicesInWords
    }

    /// The state for the next instance: what this one has stored, and other values under the same keys.
    private static func states(_ host: CheckHost) -> [(what: String, kept: [StateEntry])] {
        let keys = host.log.stateKeys.sorted { $0.lexicographicallyPrecedes($1) }
        // Together they must not exceed the limit of one.
        let odd = oddValues.map { what, value in
            (what, keys.prefix(StateValues.totalLimit / value.count).map { StateEntry(key: $0, value: value) })
        }
        return [("its own", host.services.kept)] + (keys.isEmpty ? [] : odd)
    }
}

extension Bench {
    /// An instance with the working configuration and the state `kept`.
    fileprivate func instance(keeping kept: [StateEntry], _ what: String) throws(CheckStop) -> Instance {
        guard let configuration else { throw .skipped("no configuration is known that it accepts") }
        guard let instance = create(Array(configuration.utf8), keeping: kept).instance else {
            throw .failed(
                "create refuses its configuration when \(what) is stored under its keys: ignore invalid stored values"
            )
        }
        return instance
    }
}
