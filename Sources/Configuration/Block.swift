import Core
import JSON
import Push
import Rules
import Storage

/// A block of the configuration: its keys, each declared once. It reads and checks the block, and describes it in the
/// JSON Schema, from which contrib/docs/configuration.md is made.
///
///     Block("The limits for dead letters.") {
///         Key.integer("rows", \.rows, 0...1_000_000).about("The maximum number. Default: {default}.")
///     }
struct Block<Value> {
    typealias Check = (_ mapping: YAMLMapping, _ value: inout Value, _ reader: ConfigurationReader) -> Void

    private let about: String?
    private let keys: [Key<Value>]
    private let removed: [String: String]
    private let check: Check

    /// Keys are read in their order. `removed` has keys of former versions with the error about them; `check` runs
    /// after all keys are read.
    init(
        _ about: String? = nil,
        removed: [String: String] = [:],
        @KeyList<Value> _ keys: () -> [Key<Value>],
        check: @escaping Check = { _, _, _ in }
    ) {
        self.about = about
        self.keys = keys()
        self.removed = removed
        self.check = check
    }

    var names: [String] { keys.map(\.name) }

    /// Reads the block into `result`, whose values are the defaults. Returns false if it is not a mapping, or if a
    /// required key is missing or cannot be read.
    @discardableResult
    func read(_ value: YAMLValue, into result: inout Value, _ reader: ConfigurationReader) -> Bool {
        var names = names
        if value.isMapping, let mapping = value.mapping() {
            for (name, message) in removed {
                guard let member = mapping[name] else { continue }
                member.mistake(message)
                // One error is enough.
                names.append(name)
            }
        }
        guard let mapping = value.mapping(keys: names) else { return false }
        var isUsable = true
        for key in keys {
            let member = key.purpose.map { mapping.require(key.name, $0) } ?? mapping[key.name]
            let isRead = member.map { key.read($0, &result, reader) } ?? false
            if key.purpose != nil, !isRead { isUsable = false }
        }
        check(mapping, &result, reader)
        return isUsable
    }

    /// Returns the JSON Schema of the block. `standard` has the defaults.
    func schema(_ standard: Value, _ platforms: PlatformCatalog) -> JSONValue {
        let required = keys.filter { $0.purpose != nil }.map(\.name)
        return SchemaParts.mapping(required: required, keys.map { ($0.name, $0.schema(standard, platforms)) }).about(
            about
        )
    }
}

/// Collects the keys of a block.
@resultBuilder
enum KeyList<Value> {
    static func buildExpression(_ key: Key<Value>) -> [Key<Value>] { [key] }
    static func buildExpression(_ keys: [Key<Value>]) -> [Key<Value>] { keys }
    static func buildBlock(_ keys: [Key<Value>]...) -> [Key<Value>] { keys.flatMap(\.self) }
}

/// A key of a block: its name, its description, its JSON Schema, and how it is read into the block's value.
struct Key<Value> {
    /// Reads the key's value. Returns false, with an error noted, if it cannot be read.
    typealias Reading = (_ value: YAMLValue, _ result: inout Value, _ reader: ConfigurationReader) -> Bool
    /// Makes a schema; the first parameter has the defaults.
    typealias Schema = (_ standard: Value, _ platforms: PlatformCatalog) -> JSONValue

    let name: String
    /// The purpose of a required key, for the error if it is missing; nil: the key is optional.
    private(set) var purpose: String?
    private(set) var schema: Schema
    private(set) var read: Reading
    /// The default, which replaces `{default}` in the description.
    private let standard: (Value) -> String?

    init(
        _ name: String,
        schema: @escaping Schema,
        standard: @escaping (Value) -> String? = { _ in nil },
        read: @escaping Reading
    ) {
        self.name = name
        self.schema = schema
        self.standard = standard
        self.read = read
    }

    init(_ name: String, _ schema: JSONValue, read: @escaping Reading) {
        self.init(name, schema: { _, _ in schema }, read: read)
    }

    /// Makes a key whose value is `part`, if it can be read.
    init<Part>(
        _ name: String,
        _ path: WritableKeyPath<Value, Part>,
        _ schema: JSONValue,
        part: @escaping (YAMLValue, ConfigurationReader) -> Part?
    ) {
        self.init(name, schema) { value, result, reader in
            guard let part = part(value, reader) else { return false }
            result[keyPath: path] = part
            return true
        }
    }

    /// Describes the key. `{default}` stands for the default of a number or an address.
    func about(_ text: String) -> Key {
        var key = self
        key.schema = { [schema, standard] value, platforms in
            schema(value, platforms).about(text.replacing("{default}", with: standard(value) ?? ""))
        }
        return key
    }

    /// Makes the key required. `purpose` is for the error if it is missing.
    func required(_ purpose: String) -> Key {
        var key = self
        key.purpose = purpose
        return key
    }

    /// Allows a word instead of a mapping; `schema` is the word's.
    func or(_ schema: JSONValue, word: @escaping (YAMLValue, inout Value) -> Void) -> Key {
        var key = self
        key.schema = { [mapping = self.schema] in ["anyOf": [schema, mapping($0, $1)]] }
        key.read = { [read] value, result, reader in
            if value.isMapping { return read(value, &result, reader) }
            word(value, &result)
            return true
        }
        return key
    }
}

// MARK: Texts and choices

/// A value, or an optional one.
protocol Settable<Setting> {
    associatedtype Setting
    init(setting: Setting)
}

extension String: Settable {
    init(setting: String) { self = setting }
}

extension Optional: Settable {
    init(setting: Wrapped) { self = setting }
}

extension Key {
    /// A text that `isValid` accepts.
    static func text<Text: Settable<String>>(
        _ name: String,
        _ path: WritableKeyPath<Value, Text>,
        pattern: String? = nil,
        expected: String = "text",
        where isValid: @escaping (String) -> Bool = { _ in true }
    ) -> Key {
        Key(name, path, SchemaParts.text(pattern)) { value, _ in
            value.text(expected: expected, where: isValid).map(Text.init)
        }
    }

    /// The path of a file; a relative one starts from the configuration's folder. `place` receives the position of the
    /// key's value in the file.
    static func file<Text: Settable<String>>(
        _ name: String,
        _ path: WritableKeyPath<Value, Text>,
        place: WritableKeyPath<Value, (line: Int, column: Int)>? = nil
    ) -> Key {
        Key(name, SchemaParts.text()) { value, result, reader in
            if let place { result[keyPath: place] = value.place }
            guard let file = value.string().map(reader.path) else { return false }
            result[keyPath: path] = Text(setting: file)
            return true
        }
    }

    static func flag(_ name: String, _ path: WritableKeyPath<Value, Bool>) -> Key {
        Key(name, path, SchemaParts.flag) { value, _ in value.bool() }
    }

    /// One of the words that `Choice` has.
    static func choice<Choice: CaseIterable & RawRepresentable<String>>(
        _ name: String,
        _ path: WritableKeyPath<Value, Choice>
    ) -> Key {
        Key(name, path, SchemaParts.choice(Choice.allCases.map(\.rawValue))) { value, _ in value.choice() }
    }

    /// One of the words that `Choice` has, without a default.
    static func choice<Choice: CaseIterable & RawRepresentable<String>>(
        _ name: String,
        _ path: WritableKeyPath<Value, Choice?>
    ) -> Key {
        Key(name, path, SchemaParts.choice(Choice.allCases.map(\.rawValue))) { value, _ in
            let choice: Choice? = value.choice()
            return choice.map(Optional.some)
        }
    }
}

extension YAMLValue {
    /// Returns one of the cases, by its word.
    func choice<Choice: CaseIterable & RawRepresentable<String>>() -> Choice? {
        choice(Choice.allCases.map(\.rawValue)).flatMap(Choice.init)
    }

    /// Returns a text that `isValid` accepts.
    func text(expected: String, where isValid: (String) -> Bool) -> String? {
        guard let text = string() else { return nil }
        guard isValid(text) else {
            mistake("expected \(expected)")
            return nil
        }
        return text
    }
}

// MARK: Numbers

/// A setting that the file states as a whole number, for some keys of a unit of time.
protocol WholeNumber {
    init(_ number: Int, of unit: TimeUnit?)
    /// The number; nil if there is none.
    func number(of unit: TimeUnit?) -> Int?
}

extension Int: WholeNumber {
    init(_ number: Int, of unit: TimeUnit?) { self = number }
    func number(of unit: TimeUnit?) -> Int? { self }
}

extension Double: WholeNumber {
    init(_ number: Int, of unit: TimeUnit?) { self = Double(number) }
    func number(of unit: TimeUnit?) -> Int? { Int(self) }
}

extension ByteCount: WholeNumber {
    init(_ number: Int, of unit: TimeUnit?) { self = ByteCount(number) }
    func number(of unit: TimeUnit?) -> Int? { bytes }
}

extension Duration: WholeNumber {
    init(_ number: Int, of unit: TimeUnit?) { self = (unit ?? .seconds).duration * number }
    func number(of unit: TimeUnit?) -> Int? { Int(self / (unit ?? .seconds).duration) }
}

extension Optional: WholeNumber where Wrapped: WholeNumber {
    init(_ number: Int, of unit: TimeUnit?) { self = Wrapped(number, of: unit) }
    func number(of unit: TimeUnit?) -> Int? { flatMap { $0.number(of: unit) } }
}

extension Key {
    /// A whole number within `range`; with a unit of time, it may also be written as a duration.
    static func integer<Number: WholeNumber>(
        _ name: String,
        _ path: WritableKeyPath<Value, Number>,
        of unit: TimeUnit? = nil,
        _ range: ClosedRange<Int>
    ) -> Key {
        Key(
            name,
            schema: { _, _ in unit == nil ? SchemaParts.integer(range) : SchemaParts.time(range) },
            standard: { $0[keyPath: path].number(of: unit).map(String.init) },
            read: { value, result, _ in
                let number = unit.map { value.integer(of: $0, in: range) } ?? value.integer(in: range)
                guard let number else { return false }
                result[keyPath: path] = Number(number, of: unit)
                return true
            }
        )
    }
}

// MARK: Lists and blocks

extension Key {
    /// One value, or a list of them. `read` returns nil, with an error noted, for a wrong one.
    static func list<Element>(
        _ name: String,
        _ path: WritableKeyPath<Value, [Element]>,
        read: @escaping (YAMLValue, ConfigurationReader) -> Element?
    ) -> Key {
        Key(name, path, SchemaParts.oneOrMore) { value, reader in
            value.oneOrMore().compactMap { read($0, reader) }
        }
    }

    /// A block whose keys belong to the same value.
    static func block(_ name: String, _ block: Block<Value>) -> Key {
        Key(name, schema: block.schema, read: block.read)
    }

    static func block<Inner>(_ name: String, _ path: WritableKeyPath<Value, Inner>, _ block: Block<Inner>) -> Key {
        Key(
            name,
            schema: { block.schema($0[keyPath: path], $1) },
            read: { block.read($0, into: &$1[keyPath: path], $2) }
        )
    }

    /// A block that has no value if the file does not have it. `start` has the defaults; `check` runs after the block
    /// is read.
    static func block<Inner>(
        _ name: String,
        _ path: WritableKeyPath<Value, Inner?>,
        from start: Inner,
        _ block: Block<Inner>,
        check: @escaping (YAMLValue, inout Value) -> Void = { _, _ in }
    ) -> Key {
        Key(
            name,
            schema: { block.schema(start, $1) },
            read: { value, result, reader in
                var inner = start
                guard block.read(value, into: &inner, reader) else { return false }
                result[keyPath: path] = inner
                check(value, &result)
                return true
            }
        )
    }
}

// MARK: The JSON Schema

/// The JSON Schemas of the files that operators write, as in `contrib/schema`, composed from the descriptions of the
/// loaded plugins.
package enum Schemas {
    package static func rules(_ platforms: PlatformCatalog) -> String { RuleSchema.text(platforms: platforms) }

    /// The schema (draft 2020-12) of the configuration file. Values of any type can be strings if they come from the
    /// environment.
    package static func configuration(_ platforms: PlatformCatalog) -> String {
        let head: [SchemaParts.Member] = [
            ("$schema", "https://json-schema.org/draft/2020-12/schema"),
            ("title", "Carillon configuration"),
            ("description", "The settings of a Carillon router. Relative paths start from this file's folder."),
        ]
        let block = Configuration.block.schema(Configuration(keyFile: "", storePath: ""), platforms)
        return JSONValue.members(head + block.members).prettyPrinted + "\n"
    }
}

extension JSONValue {
    /// Returns this schema with a description, which comes first.
    func about(_ text: String?) -> JSONValue {
        text.map { .members([("description", .string($0))] + members) } ?? self
    }
}

/// Building blocks of the configuration's schema.
enum SchemaParts {
    typealias Member = (key: String, value: JSONValue)

    /// A variable `${NAME}`, whose value is only known at run time.
    private static let variable: JSONValue = ["type": "string", "pattern": #"^\$\{.*\}$"#]
    static let flag: JSONValue = ["type": "boolean"]
    /// One string or a list of strings.
    static let oneOrMore: JSONValue = ["anyOf": [["type": "string"], ["type": "array", "items": ["type": "string"]]]]

    /// Returns the schema of a mapping with these keys and no others.
    static func mapping(required: [String] = [], _ members: [Member]) -> JSONValue {
        let needed = required.isEmpty ? [] : [Member("required", .texts(required))]
        return .members(
            [("type", "object"), ("additionalProperties", false)] + needed + [("properties", .members(members))]
        )
    }

    static func text(_ pattern: String? = nil) -> JSONValue {
        guard let pattern else { return ["type": ["string", "number", "boolean"]] }
        return ["anyOf": [["type": "string", "pattern": .string(pattern)], variable]]
    }

    static func choice(_ choices: [String]) -> JSONValue { ["anyOf": [["enum": .texts(choices)], variable]] }

    static func integer(_ range: ClosedRange<Int>) -> JSONValue {
        ["type": "integer", "minimum": .number(range.lowerBound), "maximum": .number(range.upperBound)]
    }

    /// Returns the schema of a number of a unit of time, which may be written as a duration.
    static func time(_ range: ClosedRange<Int>) -> JSONValue {
        ["anyOf": [integer(range), ["type": "string", "pattern": .string("^\(Duration.writtenPattern)$")]]]
    }
}
