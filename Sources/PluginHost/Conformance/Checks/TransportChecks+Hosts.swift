import CarillonABI

extension TransportChecks {
    static func borrowedMemory(_ bench: TransportBench) throws(CheckStop) -> String {
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
                bench.at("deliver, answered with \(what)")
                instance.host.set(.answer(answer))
                instance.deliver(texts, .guarded)
            }
            _ = bench.wait(for: instance, until: \.isIdle)
        }
        return ""
    }

    static func olderHost(_ bench: TransportBench) throws(CheckStop) -> String {
        let sample = try bench.knownSample()
        bench.at("structs of the first release")
        try bench.onNewInstance(.guarded, .first) { instance throws(CheckStop) in
            _ = instance.validate(sample, .guarded, .first)
            guard instance.deliver(sample, .guarded, .first).status == .CARILLON_OK else {
                throw .failed("it does not deliver when the host's structs are those of the first release")
            }
        }
        // No release made structs as short as these: surviving is enough.
        try bench.onNewInstance(.plain, .current, rules: [.completes, .completesOnce, .outcome]) { instance in
            for size in stride(from: 8, through: carillon_notification.firstSize, by: 16) {
                bench.at("structs of \(size) bytes")
                _ = instance.validate(sample, .plain, .cut(to: size))
                instance.deliver(sample, .plain, .cut(to: size))
            }
            _ = bench.wait(for: instance, until: \.isIdle)
        }
        bench.at("a host without query")
        let withoutQuery = MemoryLayout<carillon_host>.offset(of: \.query) ?? carillon_host.firstSize
        let (refusal, instance) = bench.create(
            Array((bench.configuration ?? "{}").utf8),
            .plain,
            .cut(to: withoutQuery)
        )
        guard let instance else {
            guard refusal.flaw.isEmpty else { throw .failed("of a shorter host: \(refusal.flaw)") }
            return "it refuses a shorter host, saying: \(refusal.said)"
        }
        instance.destroy()
        return ""
    }

    static func newerHost(_ bench: TransportBench) throws(CheckStop) -> String {
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
