import JSON
import Nostr
import Push
import Storage

/// The context for reading rules: the loaded platforms, and the button categories in the files.
struct RuleContext {
    let platforms: PlatformCatalog
    let checks: BlockChecks
    private(set) var categories: ButtonCategories

    init(platforms: PlatformCatalog, checks: BlockChecks) {
        self.platforms = platforms
        self.checks = checks
        categories = ButtonCategories(platforms)
    }

    mutating func add(_ categories: ButtonCategories) {
        self.categories = self.categories.adding(categories)
    }
}

/// Reads the blocks of a rule, or of `summary` and `nudge`, and checks each by its platform's description.
struct BlockReader {
    let context: RuleContext
    let rule: YAMLMapping
    /// Whether the blocks are those of `summary` or `nudge`.
    let isSummary: Bool

    private var hasTexts: Bool { rule.hasTexts }

    /// Returns the blocks, and records their errors.
    func blocks() -> PlatformBlocks {
        let platforms = context.platforms
        var blocks = platforms.blocks.compactMap { key, platform in
            rule[key].flatMap { block(key, platform, $0) }
        }
        for (name, value) in rule["native"]?.mapping()?.members ?? [] where value.mapping() != nil {
            if let owner = platforms.blocks.first(where: { [$0.platform, $0.key].contains(name) }) {
                // This is not checked, and an error in it would break every notification.
                value.mistake("move this to the rule's key '\(owner.key)'; 'native' is for other plugins")
            } else {
                block("native.\(name)", name, value).map { blocks.append($0) }
            }
        }
        LocalizationKeys(reading: rule).put(into: &blocks, platforms, rule)
        return PlatformBlocks(blocks)
    }

    private func block(_ key: String, _ platform: String, _ value: YAMLValue) -> PlatformBlocks.Block? {
        guard let description = context.platforms[platform] else {
            return JSONTemplate(free: value).map { PlatformBlocks.Block(key: key, platform: platform, template: $0) }
        }
        let schema = description.rules
        guard var template = JSONTemplate(value, schema) else { return nil }
        if value.isMapping, let mapping = value.mapping() {
            let facts = WrittenBlock(mapping, schema: schema, rule: rule, hasTexts: hasTexts, isSummary: isSummary)
            var checker = BlockChecker(
                kind: description.pushes.kind(of: facts).name,
                categories: context.categories,
                rule: rule,
                hasTexts: hasTexts,
                isSummary: isSummary
            )
            checker.check(mapping, schema)
            for bound in checker.bounds { template = bound(template) }
            checkByPlugin(template, platform, mapping, schema)
        }
        return PlatformBlocks.Block(key: key, platform: platform, template: template)
    }

    /// Calls the plugin's check. Its message may start with a JSON pointer to the invalid value.
    private func checkByPlugin(
        _ template: JSONTemplate,
        _ platform: String,
        _ block: YAMLMapping,
        _ schema: ObjectSchema
    ) {
        guard let check = context.checks[platform], let json = template.literals?.json, let message = check(json) else {
            return
        }
        guard message.hasPrefix("/"), let end = message.firstRange(of: ": ") else {
            block.value.mistake(message)
            return
        }
        var place = block.value
        var schema: ObjectSchema? = schema
        for step in message[..<end.lowerBound].dropFirst().split(separator: "/") {
            let name = String(step).replacing("~1", with: "/").replacing("~0", with: "~")
            let next: YAMLValue?
            if place.isMapping, let mapping = place.mapping() {
                next = mapping.value(of: name, schema)
                schema = schema?[name]?.schema.objectSchema
            } else {
                next = place.isList ? place.list().flatMap { list in Int(name).flatMap { list.element(at: $0) } } : nil
            }
            guard let next else { break }
            place = next
        }
        place.mistake(String(message[end.upperBound...]))
    }
}

/// Runs the checks of a platform's description on one block.
private struct BlockChecker {
    let kind: String
    let categories: ButtonCategories
    let rule: YAMLMapping
    let hasTexts: Bool
    let isSummary: Bool
    /// The checks' limits, to apply to values from variables.
    private(set) var bounds: [(JSONTemplate) -> JSONTemplate] = []

    init(kind: String, categories: ButtonCategories, rule: YAMLMapping, hasTexts: Bool, isSummary: Bool) {
        self.kind = kind
        self.categories = categories
        self.rule = rule
        self.hasTexts = hasTexts
        self.isSummary = isSummary
    }

    /// Checks an object of the block, and its inner objects. `path` is its path, or nil if it is in a list.
    mutating func check(_ mapping: YAMLMapping, _ schema: ObjectSchema, path: [String]? = []) {
        let facts = WrittenBlock(mapping, schema: schema, rule: rule, hasTexts: hasTexts, isSummary: isSummary)
        for name in schema.required where facts.place(of: [name]) == nil {
            mapping.value.mistake("'\(name)' is missing: \(schema[name]?.doc ?? "the platform requires it")")
        }
        for check in schema.checks where check.when?.holds(facts, kind: kind) ?? true {
            apply(check, facts, mapping, path)
        }
        for key in schema.keys {
            if let buttons = key.buttons { self.check(buttons, key.name, mapping, path) }
            guard let value = facts.place(of: [key.name]) else { continue }
            if case .list(let element, _) = key.schema, value.isList, let object = element.objectSchema {
                for element in value.list() ?? [] where element.isMapping {
                    element.mapping().map { check($0, object, path: nil) }
                }
            } else if let object = key.schema.objectSchema, value.isMapping {
                value.mapping().map { check($0, object, path: path.map { $0 + [key.name] }) }
            }
        }
    }

    private mutating func apply(_ check: SchemaCheck, _ facts: WrittenBlock, _ mapping: YAMLMapping, _ path: [String]?)
    {
        let message = words(check.message, facts)
        for refused in check.refuse { facts.place(of: refused.keys)?.mistake(message) }
        for requirement in check.require where facts.place(of: requirement.path.keys) == nil {
            let place = check.at.lazy.compactMap { facts.place(of: $0.keys) }.first ?? mapping.value
            place.mistake("'\(requirement.path)' is missing: \(requirement.purpose)")
        }
        for allowance in check.allow {
            guard case .literal(let literal)? = facts.value(at: allowance.path.keys),
                allowance.literals.contains(where: { $0.isComparable(to: literal) }),
                !allowance.literals.contains(where: { literal.says($0) })
            else { continue }
            facts.place(of: allowance.path.keys)?.mistake(message)
        }
        for bound in check.range {
            if let value = facts.place(of: bound.path.keys), let number = value.number, !bound.range.contains(number) {
                value.mistake(message)
            }
            guard let path else { continue }
            bounds.append { template in
                template.changing(path + bound.path.keys) { value in
                    guard case .number(let number, let range) = value else { return value }
                    return .number(number, in: range.clamped(to: bound.range))
                }
            }
        }
    }

    private mutating func check(_ buttons: ButtonNames, _ key: String, _ mapping: YAMLMapping, _ path: [String]?) {
        categories.check(mapping[key], actions: buttons.actionsKey.flatMap { mapping[$0] }, buttons)
        guard let path else { return }
        let known = categories.known(buttons)
        bounds.append { template in
            template.changing(path + [key]) { category in
                guard case .text(let category, _) = category else { return category }
                return .choice(category, of: known)
            }
        }
    }

    /// Returns `message` with its placeholders replaced by the literals.
    private func words(_ message: String, _ facts: WrittenBlock) -> String {
        var words = ""
        var rest = message[...]
        while let start = rest.firstIndex(of: "{"), let end = rest[start...].firstIndex(of: "}") {
            let name = rest[rest.index(after: start)..<end]
            words += rest[..<start]
            words += name == "kind" ? kind : facts.place(of: name.split(separator: ".").map(String.init))?.literal ?? ""
            rest = rest[rest.index(after: end)...]
        }
        return words + rest
    }
}

/// A block as written in the file.
struct WrittenBlock: BlockFacts {
    private let block: YAMLMapping?
    private let schema: ObjectSchema?
    private let rule: YAMLMapping
    let hasTexts: Bool
    let isSummary: Bool

    /// `block` is nil if the rule has none.
    init(_ block: YAMLMapping?, schema: ObjectSchema?, rule: YAMLMapping, hasTexts: Bool, isSummary: Bool) {
        self.block = block
        self.schema = schema
        self.rule = rule
        self.hasTexts = hasTexts
        self.isSummary = isSummary
    }

    func value(at path: [String]) -> BlockValue? { place(of: path).map(\.blockValue) }

    /// The location of the value at `path`.
    func place(of path: [String]) -> YAMLValue? {
        if path.first == "rule" { return Self.place(of: path.dropFirst(), in: rule, nil) }
        return block.flatMap { Self.place(of: path[...], in: $0, schema) }
    }

    private static func place(
        of path: ArraySlice<String>,
        in mapping: YAMLMapping,
        _ schema: ObjectSchema?
    ) -> YAMLValue? {
        guard let key = path.first, let value = mapping.value(of: key, schema) else { return nil }
        guard path.count > 1 else { return value }
        guard value.isMapping, let inner = value.mapping() else { return nil }
        return place(of: path.dropFirst(), in: inner, schema?[key]?.schema.objectSchema)
    }
}

extension ValueSchema {
    /// The schema of the object that is allowed here.
    fileprivate var objectSchema: ObjectSchema? {
        switch self {
        case .object(let object), .either(_, orObject: let object): object
        default: nil
        }
    }
}

extension YAMLMapping {
    /// The member of that name or its alias in `schema`.
    fileprivate func value(of name: String, _ schema: ObjectSchema?) -> YAMLValue? {
        self[name] ?? schema?[name]?.alias.flatMap { self[$0] }
    }

    /// Whether a rule defines its own texts.
    var hasTexts: Bool { ["title", "subtitle", "body"].contains { self[$0] != nil } }
}

extension YAMLValue {
    fileprivate var blockValue: BlockValue {
        if isMapping { return .object }
        if isList { return .list }
        switch scalar() {
        case nil: return .variable
        case .null?: return .literal(.null)
        case .whole(let number)?: return .literal(.number(String(number)))
        case .number(let number)?: return .literal(.number(String(number)))
        case .flag(let flag)?: return .literal(.bool(flag))
        case .text(let text)?: return text.contains("{{") ? .variable : .literal(.string(text))
        }
    }
}

extension [YAMLValue] {
    fileprivate func element(at index: Int) -> YAMLValue? { indices.contains(index) ? self[index] : nil }
}

extension JSONValue {
    /// Whether the two have the same type or are both flags. Values of other types were refused already.
    fileprivate func isComparable(to other: JSONValue) -> Bool {
        switch (self, other) {
        case (.number, .number), (.string, .string), (.bool, .bool): true
        case (.bool, _), (_, .bool), (.number, _), (_, .number):
            other.says(.bool(true)) || other.says(.bool(false))
        default: false
        }
    }
}

extension YAMLValue {
    /// Its text, if it has no variables.
    var literal: String? {
        guard let text, !text.contains("{{") else { return nil }
        return text
    }

    /// Whether it is a text with variables.
    var isTemplate: Bool { text?.contains("{{") ?? false }

    /// The text before the first variable; nil if there is none.
    var literalBeginning: String? {
        guard let text, let end = text.firstRange(of: "{{")?.lowerBound, end > text.startIndex else { return nil }
        return String(text[..<end])
    }

    /// Its number, if it has no variables.
    var number: Double? {
        switch scalar() {
        case .whole(let number): Double(number)
        case .number(let number): number
        default: nil
        }
    }

    /// Whether it is `1` or `true`; nil if it is not a flag.
    var isOn: Bool? {
        switch scalar() {
        case .flag(let flag): flag
        case .whole(let number): number == 1
        default: nil
        }
    }

    /// Whether it is `no` or `false`.
    var isOff: Bool { isOn == false || literal == "no" }

    private var text: String? {
        switch scalar() {
        case .text(let text): text
        case .whole(let number): String(number)
        default: nil
        }
    }
}
