import CarillonABI
import Platforms
import PluginHost

/// What a transport says about its platform, and about rule blocks.
enum DescriptionChecks {
    private static let repetitions = 2

    /// Hosts are lenient with a description; this is strict. The sample's configuration and target have to work, and
    /// serve the checks to come.
    static func describe(_ bench: TransportBench) throws(CheckStop) -> String {
        guard let document = bench.functions.document else {
            throw .skipped("it has no describe: rules say native: for it, and the block is not checked")
        }
        guard let description = bench.functions.description else {
            throw .skipped("its describe has a newer version than this program reads")
        }
        let problems = DescriptionReview(description, document: document).problems
        guard problems.isEmpty else {
            throw .failed("its description has mistakes:\n        " + problems.joined(separator: "\n        "))
        }
        try useSample(of: description, on: bench)
        return description.block.map { "\(description.name), in rules \($0):" } ?? description.name
    }

    private static func useSample(of description: PlatformDescription, on bench: TransportBench) throws(CheckStop) {
        let configuration = description.sample.configuration(generate: SampleKeys.make) ?? "{}"
        bench.at("the configuration of the sample")
        let (refusal, instance) = bench.create(Array(configuration.utf8))
        guard let instance else {
            throw .failed("/sample/configuration: its create refuses it, saying: \(refusal.said)")
        }
        defer { instance.destroy() }
        if bench.given == nil { bench.given = configuration }
        guard let token = description.sample.token else { return }
        bench.at("the target of the sample")
        let registration = ConformancePlan.Registration(token: token, fields: description.sample.makeFields())
        let sample = Parcel(to: registration)
        if let refusal = instance.validate(sample), refusal.isRefused {
            throw .failed("/sample/token: its validate refuses it, saying: \(refusal.said)")
        }
        bench.describedSample = sample
    }

    /// The function `check` survives any block, answers the same every time, and says where.
    static func check(_ bench: TransportBench) throws(CheckStop) -> String {
        guard let check = bench.functions.check else { throw .skipped("it has no check") }
        func ask(_ block: [UInt8], capacity: Int = 512) -> Refusal {
            let arena = Arena(.guarded)
            return withExtendedLifetime(arena) {
                Refusal(capacity: capacity) { check(arena.text(block), $0) }
            }
        }
        let blocks = [("an empty block", Array("{}".utf8))] + HostileInput.configurations.map { ($0.what, $0.text) }
        for (what, block) in blocks {
            bench.at(what)
            let answers = (0..<repetitions).map { _ in ask(block) }
            for answer in answers {
                bench.note(answer, of: "\(what) as a rule's block")
                guard answer.status == answers[0].status, answer.said == answers[0].said else {
                    throw .failed("of \(what) check says two different things: it has to say the same every time")
                }
            }
            if answers[0].isRefused, let flaw = pointerFlaw(in: answers[0].said) {
                throw .failed("of \(what): \(flaw)")
            }
            for capacity in [0, 1, 7] {
                bench.note(ask(block, capacity: capacity), of: "\(what), with room for \(capacity) bytes of error")
            }
        }
        let empty = ask(Array("{}".utf8))
        return empty.isRefused ? "it refuses an empty block, saying: \(empty.said)" : ""
    }

    /// What is wrong with a JSON pointer at the beginning of a message; nil for none, and for a message without one.
    private static func pointerFlaw(in message: String) -> String? {
        guard message.hasPrefix("/") else { return nil }
        return message.contains(": ")
            ? nil : "its message begins with a JSON pointer, but no \": \" follows: expected \"/key: what is expected\""
    }
}
