import JSON

/// What a condition can ask of a block that somebody wrote.
package protocol BlockFacts {
    /// The value under a key, or under keys in objects of the block (`alert`, `title`); nil where there is none. Paths
    /// that begin with `rule` lead into the rule around the block.
    func value(at path: [String]) -> BlockValue?
    /// Whether the rule itself has texts to show.
    var hasTexts: Bool { get }
    /// Whether the block stands for several events, or for none in particular: in `summary` and `nudge`.
    var isSummary: Bool { get }
}

/// A value of a block, as far as conditions look at it.
package enum BlockValue: Hashable, Sendable {
    /// A text, number or flag that is the same for every event.
    case literal(JSONValue)
    case object
    case list
    /// What variables decide.
    case variable
}

/// A question about a block: every member has to hold.
package struct Condition: Hashable, Sendable {
    /// All of these keys are there.
    private var has: [KeyPath] = []
    /// At least one of these keys is there.
    private var any: [KeyPath] = []
    /// None of these keys is there.
    private var lacks: [KeyPath] = []
    /// Each of these keys holds an object.
    private var objects: [KeyPath] = []
    /// Each of these keys holds one of the literals.
    private var literals: [KeyPath: [JSONValue]] = [:]
    private var texts: Bool?
    private var summary: Bool?
    /// The kind of push is one of these.
    private var kinds: [String]?
    private var alternatives: [Condition]?
    private var opposites: [Condition] = []

    init(_ reader: DescriptionReader) throws {
        let members = try reader.members(
            "has",
            "any",
            "lacks",
            "object",
            "is",
            "texts",
            "summary",
            "kind",
            "anyOf",
            "not"
        )
        has = try members["has"]?.keyPaths() ?? []
        any = try members["any"]?.keyPaths() ?? []
        lacks = try members["lacks"]?.keyPaths() ?? []
        objects = try members["object"]?.keyPaths() ?? []
        for (path, choices) in try members["is"]?.members() ?? [] {
            literals[KeyPath(path)] = try choices.list().map(\.value)
        }
        texts = try members["texts"]?.flag()
        summary = try members["summary"]?.flag()
        kinds = try members["kind"]?.texts()
        alternatives = try members["anyOf"]?.list().map { try Condition($0) }
        opposites = try members["not"].map { [try Condition($0)] } ?? []
    }

    /// `kind` is the name of the block's kind of push, where that is known already.
    package func holds(_ facts: some BlockFacts, kind: String? = nil) -> Bool {
        func isThere(_ path: KeyPath) -> Bool { facts.value(at: path.keys) != nil }
        if let texts, texts != facts.hasTexts { return false }
        if let summary, summary != facts.isSummary { return false }
        if let kinds, !kinds.contains(kind ?? "") { return false }
        guard has.allSatisfy(isThere), any.isEmpty || any.contains(where: isThere), !lacks.contains(where: isThere),
            objects.allSatisfy({ facts.value(at: $0.keys) == .object })
        else { return false }
        for (path, choices) in literals {
            guard case .literal(let literal)? = facts.value(at: path.keys),
                choices.contains(where: { literal.says($0) })
            else { return false }
        }
        if let alternatives, !alternatives.contains(where: { $0.holds(facts, kind: kind) }) { return false }
        return !opposites.contains { $0.holds(facts, kind: kind) }
    }

    /// Whether it depends on what some key of the rule itself says, and not only on whether that is there.
    var comparesRules: Bool {
        literals.keys.contains { $0.keys.first == "rule" }
            || ((alternatives ?? []) + opposites).contains(where: \.comparesRules)
    }
}

/// Keys that lead to a value, one object after the other: `alert.title`.
package struct KeyPath: Hashable, Sendable, CustomStringConvertible {
    package let keys: [String]

    init(_ text: String) {
        keys = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    }

    package var description: String { keys.joined(separator: ".") }
}

extension DescriptionReader {
    func keyPath() throws -> KeyPath { KeyPath(try text()) }

    func keyPaths() throws -> [KeyPath] { try texts().map(KeyPath.init) }
}

extension JSONValue {
    /// Whether a value that somebody wrote says the same as `literal` of a description: flags may be written as numbers
    /// and as words.
    package func says(_ literal: JSONValue) -> Bool {
        if self == literal { return true }
        switch (self, literal) {
        case (.number(let one), .number(let other)): return Double(one) == Double(other)
        case (.number(let digits), .string(let text)), (.string(let text), .number(let digits)): return digits == text
        default:
            guard let flag, let other = literal.flag else { return false }
            return flag == other
        }
    }

    private var flag: Bool? {
        switch self {
        case .bool(let flag): flag
        case .number("1"), .string("yes"): true
        case .number("0"), .string("no"): false
        default: nil
        }
    }
}
