import CarillonABI
import Foundation
import PluginHost
import Push

/// Checks a transport's description of its platform, and its check of rule blocks.
enum DescriptionChecks {
    private static let repetitions = 2

    /// Hosts are lenient with a description; this is strict. The sample's configuration and target must work; later
    /// checks use them.
    static func describe(_ bench: TransportBench) throws(CheckStop) -> String {
        guard let document = bench.functions.entry.document else {
            throw .skipped("it has no describe: rules use native: for it, and the block is not checked")
        }
        guard let description = bench.functions.entry.description else {
            throw .skipped("its describe has a newer version than this program reads")
        }
        let problems = DescriptionReview(description, document: document).problems
        guard problems.isEmpty else {
            throw .failed("its description has errors:\n        " + problems.joined(separator: "\n        "))
        }
        try useSample(of: description, on: bench)
        return description.block.map { "\(description.name), in rules \($0):" } ?? description.name
    }

    private static func useSample(of description: PlatformDescription, on bench: TransportBench) throws(CheckStop) {
        let configuration = description.sample.configuration(generate: SampleKeys.make) ?? "{}"
        bench.at("the configuration of the sample")
        let (refusal, instance) = bench.create(Array(configuration.utf8))
        guard let instance else {
            throw .failed("/sample/configuration: its create refuses it: \(refusal.said)")
        }
        defer { instance.destroy() }
        if bench.given == nil { bench.given = configuration }
        guard let token = description.sample.token else { return }
        bench.at("the target of the sample")
        let registration = ConformancePlan.Registration(token: token, fields: description.sample.makeFields())
        let sample = Parcel(to: registration)
        if let refusal = instance.validate(sample), refusal.isRefused {
            throw .failed("/sample/token: its validate refuses it: \(refusal.said)")
        }
        bench.describedSample = sample
    }

    /// The function `check` must survive any block, be deterministic, and name the place of an error.
    static func check(_ bench: TransportBench) throws(CheckStop) -> String {
        guard let check = bench.functions.check else { throw .skipped("it has no check") }
        func ask(_ block: [UInt8], capacity: Int = 512) -> RefusedCall {
            let arena = Arena(.guarded)
            return withExtendedLifetime(arena) {
                RefusedCall(capacity: capacity) { check(arena.text(block), $0) }
            }
        }
        let blocks = [("an empty block", Array("{}".utf8))] + HostileInput.configurations.map { ($0.what, $0.text) }
        for (what, block) in blocks {
            bench.at(what)
            let answers = (0..<repetitions).map { _ in ask(block) }
            for answer in answers {
                bench.note(answer, of: "\(what) as a rule's block")
                guard answer.status == answers[0].status, answer.said == answers[0].said else {
                    throw .failed("for \(what) check returns different results: it must return the same every time")
                }
            }
            if answers[0].isRefused, let flaw = pointerFlaw(in: answers[0].said) {
                throw .failed("of \(what): \(flaw)")
            }
            for capacity in [0, 1, 7] {
                bench.note(ask(block, capacity: capacity), of: "\(what), with an error buffer of \(capacity) bytes")
            }
        }
        let empty = ask(Array("{}".utf8))
        return empty.isRefused ? "it refuses an empty block: \(empty.said)" : ""
    }

    /// The problem with a JSON pointer at the start of a message; nil if there is none, or no pointer.
    private static func pointerFlaw(in message: String) -> String? {
        guard message.hasPrefix("/") else { return nil }
        return message.contains(": ")
            ? nil : "its message starts with a JSON pointer, but no \": \" follows: expected \"/key: what is expected\""
    }
}

/// Finds errors in a platform's description that a host ignores.
struct DescriptionReview {
    private let description: PlatformDescription
    private let document: String

    init(_ description: PlatformDescription, document: String) {
        self.description = description
        self.document = document
    }

    /// Each starts with the JSON pointer of its value.
    var problems: [String] {
        unknownMembers + targets + kinds + keys + samples
    }

    private var unknownMembers: [String] {
        PlatformDescription.unknownMembers(in: document).map { "\($0): version 1 of the format does not know this" }
    }

    // MARK: Registrations

    private var targets: [String] {
        var problems: [String] = []
        if description.name.isEmpty { problems.append("/name: expected a display name") }
        var names: Set<String> = []
        for (index, field) in description.fields.enumerated() {
            if !names.insert(field.name).inserted {
                problems.append("/fields/\(index)/name: there are two fields \(field.name)")
            }
            if let purpose = field.purpose, !kindNames.contains(purpose) {
                problems.append("/fields/\(index)/for: there is no kind of push \(purpose)")
            }
        }
        return problems
    }

    // MARK: Kinds of push

    private var kindNames: Set<String> { Set(rawKinds.compactMap { $0["name"] as? String }) }

    private var rawKinds: [[String: Any]] {
        let pushes = raw["pushes"] as? [String: Any]
        return pushes?["kinds"] as? [[String: Any]] ?? []
    }

    private var raw: [String: Any] {
        (try? JSONSerialization.jsonObject(with: Data(document.utf8))) as? [String: Any] ?? [:]
    }

    private var kinds: [String] {
        var problems: [String] = []
        var names: Set<String> = []
        var last: String?
        for (index, kind) in rawKinds.enumerated() {
            let name = kind["name"] as? String ?? ""
            if !names.insert(name).inserted {
                problems.append("/pushes/kinds/\(index)/name: there are two kinds \(name)")
            }
            if let last {
                problems.append("/pushes/kinds/\(index): no push is of this kind, because \(last) has no `when`")
            }
            if kind["when"] == nil { last = last ?? name }
        }
        return problems + Self.unknownKinds(in: raw, names: names, at: "")
    }

    /// Conditions about unknown kinds of push.
    private static func unknownKinds(in value: Any, names: Set<String>, at pointer: String) -> [String] {
        switch value {
        case let object as [String: Any]:
            object.sorted { $0.key < $1.key }.flatMap { name, member in
                let path = "\(pointer)/\(name)"
                guard name == "when", let kinds = (member as? [String: Any])?["kind"] as? [String] else {
                    return unknownKinds(in: member, names: names, at: path)
                }
                return kinds.filter { !names.contains($0) }.map { "\(path)/kind: there is no kind of push \($0)" }
            }
        case let list as [Any]:
            list.enumerated().flatMap { unknownKinds(in: $1, names: names, at: "\(pointer)/\($0)") }
        default: []
        }
    }

    // MARK: Keys

    private var keys: [String] {
        var problems = Self.problems(of: description.rules, at: "/rules")
        problems += Self.problems(of: description.configuration.schema, at: "/configuration/schema")
        for text in description.texts {
            for path in [text.key, text.arguments] where !Self.has(path.keys, in: description.rules) {
                problems.append("/texts/\(text.name): the rule block has no key \(path)")
            }
        }
        for (index, key) in description.presentation.enumerated()
        where !Self.has([key.name], in: description.rules) {
            problems.append("/presentation/\(index)/key: the rule block has no key \(key.name)")
        }
        for (index, member) in (description.batch?.members ?? []).enumerated()
        where !Self.has(member.path.keys, in: description.rules) {
            problems.append("/batch/members/\(index)/key: the rule block has no key \(member.path)")
        }
        for variable in description.configuration.environment
        where !Self.has([variable.key], in: description.configuration.schema) {
            problems.append("/configuration/environment/\(variable.name)/key: the block has no key \(variable.key)")
        }
        return problems
    }

    private static func problems(of schema: ObjectSchema, at pointer: String) -> [String] {
        let missing = schema.required.filter { !has([$0], in: schema) }
        var problems = missing.map { "\(pointer)/required: there is no key \($0)" }
        for (index, check) in schema.checks.enumerated() {
            let paths =
                check.refuse + check.require.map(\.path) + check.allow.map(\.path) + check.range.map(\.path) + check.at
            problems += paths.filter { $0.keys.first != "rule" && !has($0.keys, in: schema) }
                .map { "\(pointer)/checks/\(index): there is no key \($0)" }
        }
        for key in schema.keys {
            guard let object = key.schema.object else { continue }
            problems += Self.problems(of: object, at: "\(pointer)/properties/\(key.name)")
        }
        return problems
    }

    /// Whether the schema knows the key at the end of a path, or accepts any there.
    private static func has(_ path: [String], in schema: ObjectSchema) -> Bool {
        guard let name = path.first else { return true }
        guard let key = schema[name] else { return schema.isOpen }
        guard path.count > 1 else { return true }
        guard let object = key.schema.object else { return key.schema.takesAnyKeys }
        return has(Array(path.dropFirst()), in: object)
    }

    // MARK: Samples

    private var samples: [String] {
        guard let token = description.sample.token else {
            return ["/sample/token: expected a made-up target, so that `rules try` can show a request"]
        }
        var problems: [String] = []
        if let pattern = description.target.pattern, !pattern.matches(token) {
            problems.append("/sample/token: it does not match /target/pattern")
        }
        let given = Set(description.sample.fields.map(\.name))
        for field in description.fields where field.isRequired && field.purpose == nil && !given.contains(field.name) {
            problems.append("/sample/fields: the required field \(field.name) is missing")
        }
        for field in description.fields {
            guard let pattern = field.pattern,
                case .text(let text)? = description.sample.fields.first(where: { $0.name == field.name })?.value,
                !pattern.matches(text)
            else { continue }
            problems.append("/sample/fields/\(field.name): it does not match the field's pattern")
        }
        let known = Set(description.fields.map(\.name)).union(
            description.target.kind == .token ? [] : ["p256dh", "auth"]
        )
        for name in given.subtracting(known).sorted() {
            problems.append("/sample/fields/\(name): there is no such field of a registration")
        }
        if description.target.kind == .subscription, !given.isSuperset(of: ["p256dh", "auth"]) {
            problems.append("/sample/fields: a subscription has the keys p256dh and auth")
        }
        return problems
    }
}

extension ValueSchema {
    /// Its object schema, if that has known keys.
    fileprivate var object: ObjectSchema? {
        switch self {
        case .object(let object), .either(_, let object): object
        case .list(let element, _): element.object
        default: nil
        }
    }

    fileprivate var takesAnyKeys: Bool {
        switch self {
        case .freeObject, .dictionary, .any: true
        default: false
        }
    }
}
