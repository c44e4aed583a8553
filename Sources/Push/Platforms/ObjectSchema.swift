import JSON

/// The schema of an object that people write: a rule's block, or a platform's configuration. It is read from a subset
/// of JSON Schema.
package struct ObjectSchema: Hashable, Sendable {
    package struct Key: Hashable, Sendable {
        package let name: String
        /// Another spelling, which is read as ``name``.
        package let alias: String?
        package let schema: ValueSchema
        /// Whether the service refuses the object without it. If it is omitted, the object is omitted too.
        package let isEssential: Bool
        /// A sentence that describes it.
        package let doc: String
        /// The button categories of the app, if the key contains one.
        package let buttons: ButtonNames?
        /// Whether it contains file paths, which the host reads for the plugin. Only a platform's configuration has
        /// such keys.
        package let isFile: Bool
    }

    package let keys: [Key]
    /// The required keys.
    package let required: [String]
    package let checks: [SchemaCheck]
    /// Whether it allows unknown keys.
    package let isOpen: Bool
    /// The original schema.
    package let source: JSONValue

    package subscript(name: String) -> Key? { keys.first { $0.name == name || $0.alias == name } }

    /// All allowed names; nil if any is allowed.
    package var names: [String]? {
        isOpen ? nil : keys.flatMap { [$0.name] + ($0.alias.map { [$0] } ?? []) }
    }

    /// A schema that allows any keys.
    static let open = ObjectSchema(keys: [], required: [], checks: [], isOpen: true, source: .null)

    private init(keys: [Key], required: [String], checks: [SchemaCheck], isOpen: Bool, source: JSONValue) {
        self.keys = keys
        self.required = required
        self.checks = checks
        self.isOpen = isOpen
        self.source = source
    }

    /// Reads a schema. Its keys can only name files if `namingFiles`; such marks are ignored otherwise.
    init(_ reader: DescriptionReader, namingFiles: Bool = false) throws {
        let members = try reader.members(
            "type",
            "title",
            "description",
            "default",
            "properties",
            "required",
            "additionalProperties",
            "checks",
            "x-alias",
            "x-essential",
            "x-complete"
        )
        source = reader.value
        keys = try members["properties"]?.members().map { try Key($0, $1, mayBeFile: namingFiles) } ?? []
        required = try members["required"]?.texts() ?? []
        checks = try members["checks"]?.list().map { try SchemaCheck($0) } ?? []
        isOpen = try members["additionalProperties"].map { try $0.flag() } ?? (members["properties"] == nil)
    }
}

extension ObjectSchema.Key {
    fileprivate init(_ name: String, _ reader: DescriptionReader, mayBeFile: Bool) throws {
        let members = Dictionary(try reader.members().map { ($0.name, $0.value) }) { first, _ in first }
        self.name = name
        alias = try members["x-alias"]?.text()
        schema = try ValueSchema(reader, ofKey: true)
        isEssential = try members["x-essential"]?.flag() ?? false
        doc = try members["description"]?.text() ?? ""
        buttons = try members["x-buttons"].map { try ButtonNames($0) }
        let mark = members["file"]
        let isMarked = try mark?.flag() ?? false
        isFile = isMarked && mayBeFile && schema.canNameFiles
        if isMarked, !isFile { mark?.noteUnknown() }
    }
}

/// The button categories that a key can contain.
package struct ButtonNames: Hashable, Sendable {
    /// The prefix that is reserved for predefined categories.
    package let reserved: String
    /// The predefined categories with their buttons, in the document's order.
    package let predefined: [Category]
    /// The key next to this one whose members are named after buttons of the category.
    package let actionsKey: String?

    package struct Category: Hashable, Sendable {
        package let name: String
        package let buttons: [String]
    }

    fileprivate init(_ reader: DescriptionReader) throws {
        let members = try reader.members("reserved", "predefined", "actions")
        reserved = try members["reserved"]?.text() ?? ""
        predefined = try members["predefined"]?.members().map { Category(name: $0, buttons: try $1.texts()) } ?? []
        actionsKey = try members["actions"]?.text()
    }
}

/// A check of several keys of an object.
package struct SchemaCheck: Hashable, Sendable {
    /// The condition of the check; nil means always.
    package let when: Condition?
    /// Keys that must be absent.
    package let refuse: [KeyPath]
    /// Keys that must be present, and the purpose of each.
    package let require: [Requirement]
    /// The allowed literals of keys.
    package let allow: [Allowance]
    /// The allowed numbers of keys, including values from variables.
    package let range: [Bounds]
    /// The location for errors about a missing key: the first of these keys that is present, or else the object.
    package let at: [KeyPath]
    /// The error message. `{key}` is replaced by the literal of that key, `{kind}` by the kind of push.
    package let message: String

    package struct Requirement: Hashable, Sendable {
        package let path: KeyPath
        package let purpose: String
    }

    package struct Allowance: Hashable, Sendable {
        package let path: KeyPath
        package let literals: [JSONValue]
    }

    package struct Bounds: Hashable, Sendable {
        package let path: KeyPath
        package let range: ClosedRange<Double>
    }

    fileprivate init(_ reader: DescriptionReader) throws {
        let members = try reader.members("when", "refuse", "require", "allow", "range", "at", "message")
        when = try members["when"].map { try Condition($0) }
        refuse = try members["refuse"]?.keyPaths() ?? []
        require = try members["require"]?.members().map { Requirement(path: KeyPath($0), purpose: try $1.text()) } ?? []
        allow =
            try members["allow"]?.members().map {
                Allowance(path: KeyPath($0), literals: try $1.list().map(\.value))
            } ?? []
        range =
            try members["range"]?.members().map { path, value in
                let bounds = try value.list().map { try $0.number() }
                guard bounds.count == 2, bounds[0] <= bounds[1] else { throw value.error("expected [min, max]") }
                return Bounds(path: KeyPath(path), range: bounds[0]...bounds[1])
            } ?? []
        at = try members["at"]?.keyPaths() ?? []
        message = try members["message"]?.text() ?? ""
        if message.isEmpty, !refuse.isEmpty || !allow.isEmpty || !range.isEmpty {
            throw reader.error("'message' is missing: the error for the author of the block")
        }
    }
}

/// The facts about a block that conditions use.
package protocol BlockFacts {
    /// Returns the value under a key, or under nested keys (`alert`, `title`); nil if there is none. Paths that start
    /// with `rule` refer to the rule around the block.
    func value(at path: [String]) -> BlockValue?
    /// Whether the rule has texts to show.
    var hasTexts: Bool { get }
    /// Whether the block is in `summary` or `nudge`.
    var isSummary: Bool { get }
}

/// A value of a block, as conditions see it.
package enum BlockValue: Hashable, Sendable {
    /// A text, number or flag that is the same for every event.
    case literal(JSONValue)
    case object
    case list
    /// A value with variables.
    case variable
}

/// A condition on a block; all of its members must hold.
package struct Condition: Hashable, Sendable {
    /// All of these keys are present.
    private var has: [KeyPath] = []
    /// At least one of these keys is present.
    private var any: [KeyPath] = []
    /// All of these keys are absent.
    private var lacks: [KeyPath] = []
    /// Each of these keys has an object.
    private var objects: [KeyPath] = []
    /// Each of these keys has one of the literals.
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

    /// Whether it holds. `kind` is the name of the block's kind of push, if known.
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
}

/// A path of keys to a value in nested objects: `alert.title`.
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
    /// Whether a written value equals `literal` of a description: flags may be written as numbers or words.
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
