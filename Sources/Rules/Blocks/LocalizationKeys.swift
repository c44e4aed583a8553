import Platforms
import YAMLReading

/// The texts of a rule that the app itself contains: `{ loc-key: LIKED, loc-args: ["{{author.name}}"], default: … }`
/// gives a text's name and its arguments. Some services take such names instead of texts.
struct LocalizationKeys {
    static let keys = ["loc-key", "loc-args"]
    /// In bytes of UTF-8.
    private static let keyLimit = 128
    private static let argumentLimit = 16

    private struct Text {
        let key: JSONTemplate
        let arguments: JSONTemplate?
    }

    /// By the rule's key.
    private var texts: [String: Text] = [:]

    /// Reads them from `rule`'s texts.
    init(reading rule: YAMLMapping) {
        for name in ["title", "subtitle", "body"] {
            texts[name] = rule[name].flatMap(Self.text)
        }
    }

    /// Adds them to the blocks of platforms that support them; reports a block that says the same itself.
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
                        "the texts have a 'loc-key', and '\(object)' of the block for \(platform) says something else"
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
            value.mistake("expected the name of a text in the app: at most \(keyLimit) bytes, no blanks, no variables")
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
