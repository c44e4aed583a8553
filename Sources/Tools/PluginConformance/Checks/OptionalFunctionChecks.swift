import CarillonABI
import PluginHost

/// Checks how a transport handles several deliveries together, and inbound requests.
enum OptionalFunctionChecks {
    static func deliverMany(_ bench: TransportBench) throws(CheckStop) -> String {
        guard bench.functions.deliverMany != nil else { throw .skipped("it has no deliver_many") }
        let sample = try bench.knownSample()
        let counts = Set([2, bench.functions.entry.manyLimit]).sorted()
        var taken: [Int] = []
        for answer in [Answer(200), Answer(400), Answer(503)] {
            try bench.onNewInstance(.guarded) { instance in
                instance.host.set(.answer(answer))
                for count in counts {
                    bench.at("\(count) deliveries in one call, with the response \(answer.status)")
                    let status = instance.deliverMany(parcels(count, like: sample), .guarded)
                    if status == .CARILLON_OK { taken.append(count) }
                    _ = bench.wait(for: instance, until: \.isIdle)
                }
            }
        }
        try bench.onNewInstance { instance in
            bench.at("deliveries in one call whose request fails when the host shuts down")
            instance.host.set(.hold)
            for count in counts { instance.deliverMany(parcels(count, like: sample)) }
            instance.host.set(.refuse)
            for count in counts { instance.deliverMany(parcels(count, like: sample)) }
            instance.host.release(.nothing(because: "shutdown"))
            _ = bench.wait(for: instance, until: \.isIdle)
        }
        let most = taken.max()
        return most.map { "it took \($0) together" } ?? "it accepts no batches with this configuration"
    }

    private static func parcels(_ count: Int, like sample: Parcel) -> [Parcel] {
        (0..<count).map { index in
            let digits = String(index, radix: 16)
            let id = "0b5e7c9e-93a4-4b1f-8a35-" + String(repeating: "0", count: 12 - digits.count) + digits
            return sample.with { $0.id = Array(id.utf8) }
        }
    }

    static func receive(_ bench: TransportBench) throws(CheckStop) -> String {
        guard bench.functions.receive != nil else { throw .skipped("it has no receive") }
        var answered = 0
        try bench.onNewInstance(.guarded, rules: [.receive, .requests]) { instance in
            for (what, request) in InboundSample.all {
                bench.at("an inbound request with \(what)")
                if instance.receive(request, .guarded) == .CARILLON_OK { answered += 1 }
            }
            _ = bench.wait(for: instance, until: \.isIdle)
        }
        try bench.onNewInstance(rules: [.receive]) { instance in
            bench.at("inbound requests when the host shuts down")
            instance.host.set(.hold)
            for (_, request) in InboundSample.all { instance.receive(request) }
            instance.host.set(.refuse)
            for (_, request) in InboundSample.all { instance.receive(request) }
            instance.host.release(.nothing(because: "shutdown"))
            _ = bench.wait(for: instance, until: \.isIdle)
        }
        return answered == 0 ? "it accepts no request" : ""
    }
}

/// An inbound request, byte for byte.
struct InboundSample: Sendable {
    var method = Array("POST".utf8)
    var path = Array("/hook".utf8)
    var query: [UInt8] = []
    var headers: [Parcel.Field] = [
        Parcel.Field(name: Array("content-type".utf8), value: Array("application/json".utf8))
    ]
    var body = Array("{}".utf8)

    private func with(_ change: (inout InboundSample) -> Void) -> InboundSample {
        var sample = self
        change(&sample)
        return sample
    }

    func request(in arena: Arena) -> UnsafePointer<carillon_inbound_request>? {
        let fields = headers.map { carillon_field(name: arena.text($0.name), value: arena.text($0.value)) }
        return arena.borrow(
            carillon_inbound_request(
                struct_size: 0,
                reserved: 0,
                method: arena.text(method),
                path: arena.text(path),
                query: arena.text(query),
                headers: arena.array(fields),
                header_count: fields.count,
                body: arena.text(body)
            )
        )
    }

    /// Typical and hostile requests.
    static let all: [(what: String, request: InboundSample)] = {
        let usual = InboundSample()
        let many = (0..<100).map { Parcel.Field(name: Array("x-\($0)".utf8), value: Array("v".utf8)) }
        var all = [
            ("a JSON body", usual),
            ("only a method", InboundSample(method: Array("GET".utf8), path: [], headers: [], body: [])),
            ("an unknown method", usual.with { $0.method = Array("CONFORMANCE".utf8) }),
            ("a path outside of the tree", usual.with { $0.path = Array("/../../../etc/passwd".utf8) }),
            ("an encoded path", usual.with { $0.path = Array("/%2e%2e/%00/%zz".utf8) }),
            ("a path of 16 KiB", usual.with { $0.path = [UInt8](repeating: UInt8(ascii: "/"), count: 16 << 10) }),
            ("an odd query", usual.with { $0.query = Array("&&=&a=%&a=%zz&%00=".utf8) }),
            ("no headers", usual.with { $0.headers = [] }),
            ("100 headers", usual.with { $0.headers += many }),
            ("every header twice", usual.with { $0.headers += $0.headers }),
            ("an empty body", usual.with { $0.body = [] }),
            ("256 KiB of body", usual.with { $0.body = [UInt8](repeating: UInt8(ascii: "["), count: 256 << 10) }),
        ]
        for (what, text) in HostileInput.configurations where text.count <= 256 << 10 {
            all.append(("a body of \(what)", usual.with { $0.body = text }))
        }
        for (what, text) in HostileInput.texts where text.count <= 16 << 10 {
            all.append(("a body of \(what)", usual.with { $0.body = text }))
            all.append(("a header of \(what)", usual.with { $0.headers[0].value = text }))
            all.append(("a query of \(what)", usual.with { $0.query = text }))
        }
        return all
    }()
}

/// Checks how a transport answers operators' commands.
enum CommandChecks {
    private static var unknownCommand: [[UInt8]] { [Array("carillon-conformance".utf8)] }

    static func command(_ bench: TransportBench) throws(CheckStop) -> String {
        guard bench.functions.command != nil else { throw .skipped("it has no command") }
        var remark = ""
        try bench.onNewInstance(rules: [.command, .requests]) { instance throws(CheckStop) in
            bench.at("help")
            switch try course(of: [Array("help".utf8)], on: instance, bench) {
            case .refused: remark = "it has no commands"
            case .answered(isOK: true): break
            case .answered(isOK: false): throw .failed("\"help\" failed: it must list the commands")
            }
            bench.at("an unknown command")
            if case .answered(isOK: true) = try course(of: unknownCommand, on: instance, bench) {
                throw .failed(
                    "it returns CARILLON_OK for a command that it cannot know: return CARILLON_UNSUPPORTED, or describe the "
                        + "problem with another status"
                )
            }
            bench.at("no words")
            if case .answered(isOK: true) = try course(of: [], on: instance, bench) {
                throw .failed("it returns CARILLON_OK for no command")
            }
        }
        try hostileCommands(bench)
        return remark
    }

    /// Every text as a command or its arguments, and many of them; with answered requests, and with requests that stay
    /// unanswered until the instance must end.
    private static func hostileCommands(_ bench: TransportBench) throws(CheckStop) {
        let words = [Array("help".utf8)] + HostileInput.commandWords + HostileInput.texts.map(\.text) + [[]]
        try bench.onNewInstance(.guarded, rules: [.command]) { instance in
            for first in words {
                bench.at("commands with hostile words")
                for second in words { instance.command([first, second], .guarded) }
                instance.command([first] + words, .guarded)
            }
            bench.at("1,000 words")
            instance.command([[UInt8]](repeating: Array("a".utf8), count: 1000), .guarded)
            _ = bench.wait(for: instance, until: \.isIdle)
        }
        try bench.onNewInstance(rules: [.command]) { instance in
            bench.at("commands whose requests fail when the host shuts down")
            instance.host.set(.hold)
            for word in words { instance.command([word, Array("list".utf8)]) }
            instance.host.set(.refuse)
            for word in words { instance.command([word, Array("list".utf8)]) }
            instance.host.release(.nothing(because: "shutdown"))
            _ = bench.wait(for: instance, until: \.isIdle)
        }
    }

    private enum Course {
        case refused
        case answered(isOK: Bool)
    }

    private static func course(
        of words: [[UInt8]],
        on instance: CheckedTransport,
        _ bench: TransportBench
    ) throws(CheckStop) -> Course {
        guard let (number, status) = instance.command(words), status == .CARILLON_OK else { return .refused }
        guard bench.wait(for: instance, until: { $0.commands[number].answers.isEmpty == false }),
            let answer = instance.host.log.commands[number].answers.first
        else { throw .failed(CheckLog.unansweredCommand) }
        return .answered(isOK: answer.isOK)
    }
}
