import Core
import JSON
import Nostr
import Push
import Storage

/// A rule's blocks for single platforms (`native` and the platforms' own keys), for features that other platforms lack.
///
/// A plugin gets its block as `native` and must validate it. A contradictory block makes only that message fail.
struct PlatformBlocks: Sendable {
    /// One platform's block as it was read.
    struct Block: Sendable {
        /// The rule's key for it, such as `apns` or `native.matrix`.
        let key: String
        let platform: String
        var template: JSONTemplate
    }

    /// Blocks without variables, by platform name.
    private let constant: [String: String]
    private let templates: [Block]
    /// The platforms whose block may lack a required value for some events.
    private let withheld: Set<String>

    init(_ blocks: [Block]) {
        var constant: [String: String] = [:]
        var templates: [Block] = []
        for block in blocks {
            if case .constant(let json) = block.template {
                constant[block.platform] = String(decoding: json, as: UTF8.self)
            } else {
                templates.append(block)
            }
        }
        self.constant = constant
        self.templates = templates
        withheld = Set(templates.filter(\.template.mayBeLeftOut).map(\.platform))
    }

    /// Creates combined blocks. No value in them is omitted, so they need no key for reports.
    init(_ blocks: [(platform: String, template: JSONTemplate)]) {
        self.init(blocks.map { Block(key: $0.platform, platform: $0.platform, template: $0.template) })
    }

    /// The members of a platform's block, in order. Empty if there is no block.
    func members(of platform: String) -> [JSONTemplate.Member] { block(of: platform)?.members ?? [] }

    private func block(of platform: String) -> JSONTemplate? {
        if let json = constant[platform] { return .constant(Array(json.utf8)) }
        return templates.first { $0.platform == platform }?.template
    }

    /// A platform's block, for conditions.
    func facts(of platform: String, hasTexts: Bool) -> RenderedBlock {
        RenderedBlock(block: block(of: platform), hasTexts: hasTexts)
    }

    /// Returns these blocks, and those of `others` for platforms that have none.
    func adding(_ others: PlatformBlocks) -> PlatformBlocks {
        let missing = others.platforms.filter { !platforms.contains($0) }
        return PlatformBlocks((all + missing.map { ($0, .joined(others.members(of: $0))) }))
    }

    /// Returns these blocks with the members of `others` that they lack.
    func addingMembers(of others: PlatformBlocks) -> PlatformBlocks {
        PlatformBlocks(
            Set(platforms + others.platforms).sorted().map { platform in
                let own = members(of: platform)
                let missing = others.members(of: platform).filter { member in !own.contains { $0.key == member.key } }
                return (platform, .joined(own + missing))
            }
        )
    }

    private var all: [(platform: String, template: JSONTemplate)] {
        platforms.map { ($0, .joined(members(of: $0))) }
    }

    /// The platforms that have a block, sorted.
    var platforms: [String] { (Array(constant.keys) + templates.map(\.platform)).sorted() }

    /// The full names of the variables that its templates use.
    var variables: Set<String> {
        templates.reduce(into: []) { $0.formUnion($1.template.variables) }
    }

    /// Whether the block of `platform` may lack a required value for some events.
    func mayWithhold(_ platform: String) -> Bool { withheld.contains(platform) }

    /// Returns JSON objects by platform name; a transport gets its own as `native`. Adds omitted values to `rendering`.
    /// Relative dates count from `now`.
    func render(_ values: TemplateValues, now: Timestamp, into rendering: inout Rendering) -> [String: String] {
        var blocks = constant
        for block in templates {
            var omitted = OmittedPaths()
            let json = block.template.render(values, now: now, omitted: &omitted)
            blocks[block.platform] = json
            rendering.leaveOut(omitted, of: block.key, platform: block.platform, withholds: json == nil)
        }
        return blocks
    }

    /// Renders without untrusted values, so that no value is omitted.
    func render(_ values: TemplateValues, now: Timestamp) -> [String: String] {
        var rendered = constant
        for block in templates {
            var omitted = OmittedPaths()
            rendered[block.platform] = block.template.render(values, now: now, omitted: &omitted)
        }
        return rendered
    }
}

/// A block after reading. Values with variables are unknown.
struct RenderedBlock: BlockFacts {
    fileprivate let block: JSONTemplate?
    let hasTexts: Bool
    let isSummary = false

    func value(at path: [String]) -> BlockValue? {
        guard let value = block?.value(at: path) else { return nil }
        switch value {
        case .object: return .object
        case .list: return .list
        case .text, .choice, .whole, .number, .flag, .moment: return .variable
        case .constant(let bytes):
            switch try? JSONValue(parsing: String(decoding: bytes, as: UTF8.self)) {
            case nil: return nil
            case .object?: return .object
            case .array?: return .list
            case let literal?: return .literal(literal)
            }
        }
    }
}

/// Localised texts of a rule that the app contains. `{ loc-key: LIKED, loc-args: ["{{author.name}}"], default: … }`
/// gives a text's name and arguments. Some services take such names instead of texts.
struct LocalizationKeys {
    static let keys = ["loc-key", "loc-args"]
    /// The limit in UTF-8 bytes.
    private static let keyLimit = 128
    private static let argumentLimit = 16

    private struct Text {
        let key: JSONTemplate
        let arguments: JSONTemplate?
    }

    /// The texts by the rule's key.
    private var texts: [String: Text] = [:]

    /// Reads them from `rule`'s texts.
    init(reading rule: YAMLMapping) {
        for name in ["title", "subtitle", "body"] {
            texts[name] = rule[name].flatMap(Self.text)
        }
    }

    /// Adds them to the blocks of platforms that support them. Reports an error if a block sets the same values.
    func put(into blocks: inout [PlatformBlocks.Block], _ platforms: PlatformCatalog, _ rule: YAMLMapping) {
        for platform in platforms.platforms {
            guard let description = platforms[platform], let object = description.texts.first?.key.keys.first else {
                continue
            }
            let members = description.texts.flatMap { place -> [JSONTemplate.Member] in
                guard let text = texts[place.name] else { return [] }
                let key = JSONTemplate.Member(key: place.key.keys[1], value: text.key)
                return [key] + (text.arguments.map { [.init(key: place.arguments.keys[1], value: $0)] } ?? [])
            }
            guard !members.isEmpty else { continue }
            let key = description.block ?? "native.\(platform)"
            if let index = blocks.firstIndex(where: { $0.platform == platform }) {
                guard let joined = blocks[index].template.adding(members, under: object) else {
                    rule.value.mistake(
                        "the texts have a 'loc-key', but '\(object)' of the block for \(platform) sets other values"
                    )
                    continue
                }
                blocks[index].template = joined
            } else {
                let template = JSONTemplate.joined([JSONTemplate.Member(key: object, value: .joined(members))])
                blocks.append(PlatformBlocks.Block(key: key, platform: platform, template: template))
            }
        }
    }

    private static func text(_ text: YAMLValue) -> Text? {
        guard text.isMapping, let map = text.mapping() else { return nil }
        let arguments = map["loc-args"].flatMap(Self.arguments)
        guard let value = map["loc-key"] else {
            map["loc-args"]?.mistake("'loc-key' is missing: the text that these are put into")
            return nil
        }
        return key(value).map { Text(key: .literal($0), arguments: arguments) }
    }

    private static func key(_ value: YAMLValue) -> String? {
        guard let key = value.string() else { return nil }
        guard (1...keyLimit).contains(key.utf8.count), !key.contains("{{"),
            key.unicodeScalars.allSatisfy({ ScalarRole($0) == .base })
        else {
            value.mistake("expected the name of a text in the app: at most \(keyLimit) bytes, no spaces, no variables")
            return nil
        }
        return key
    }

    private static func arguments(_ value: YAMLValue) -> JSONTemplate? {
        guard let list = value.list() else { return nil }
        if list.count > argumentLimit { value.mistake("expected at most \(argumentLimit)") }
        return .joined(list.compactMap { Template.read($0).map { JSONTemplate.text($0, .line) } })
    }
}
