import YAMLReading

/// The texts of a rule that an app has in its own files: `{ loc-key: LIKED, loc-args: ["{{author.name}}"], default: … }`
/// names one, and what is to be put into it. Apple and Google take such names in place of texts.
struct LocalizationKeys {
    static let keys = ["loc-key", "loc-args"]
    /// In bytes of UTF-8.
    private static let keyLimit = 128
    private static let argumentLimit = 16

    /// What goes into an alert of APNs.
    private var alert: [JSONTemplate.Member] = []
    /// What goes into a notification of FCM, which has no subtitle.
    private var notification: [JSONTemplate.Member] = []

    /// Takes them out of `rule`'s texts.
    init(reading rule: YAMLMapping) {
        add(rule["title"], alert: "title-loc-", notification: "titleLoc")
        add(rule["subtitle"], alert: "subtitle-loc-", notification: nil)
        add(rule["body"], alert: "loc-", notification: "bodyLoc")
    }

    /// Puts them into the blocks of the platforms that know them; where a block says the same itself, that is a mistake.
    func put(into blocks: inout [PlatformBlocks.Block], of rule: YAMLMapping) {
        put(alert, into: &blocks, .apns, "alert", rule)
        put(notification, into: &blocks, .fcm, "notification", rule)
    }

    private mutating func add(_ text: YAMLValue?, alert alertPrefix: String, notification prefix: String?) {
        guard let text, text.isMapping, let map = text.mapping() else { return }
        let arguments = map["loc-args"].flatMap(Self.arguments)
        guard let value = map["loc-key"] else {
            if let stray = map["loc-args"] { stray.mistake("'loc-key' is missing: the text that these are put into") }
            return
        }
        guard let key = Self.key(value) else { return }
        alert.append(JSONTemplate.Member(key: alertPrefix + "key", value: .literal(key)))
        if let prefix { notification.append(JSONTemplate.Member(key: prefix + "Key", value: .literal(key))) }
        guard let arguments else { return }
        alert.append(JSONTemplate.Member(key: alertPrefix + "args", value: arguments))
        if let prefix { notification.append(JSONTemplate.Member(key: prefix + "Args", value: arguments)) }
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
        return .joined(list.compactMap { Template.read($0).map { .text($0, .any) } })
    }

    private func put(
        _ members: [JSONTemplate.Member],
        into blocks: inout [PlatformBlocks.Block],
        _ platform: PlatformKey,
        _ key: String,
        _ rule: YAMLMapping
    ) {
        guard !members.isEmpty else { return }
        guard let index = blocks.firstIndex(where: { $0.key == platform.name }) else {
            let template = JSONTemplate.joined([JSONTemplate.Member(key: key, value: .joined(members))])
            blocks.append(
                PlatformBlocks.Block(key: platform.name, platform: platform.platform, template: template)
            )
            return
        }
        guard let joined = blocks[index].template.adding(members, under: key) else {
            rule.value.mistake(
                "the texts have a 'loc-key', and '\(key)' of the block for \(platform.platform) says something else"
            )
            return
        }
        blocks[index].template = joined
    }
}
