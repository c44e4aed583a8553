import Notifications
import Platforms
import YAMLReading

/// What goes out for no event in particular: the file's `summary` and `nudge`. They take the keys of a rule that say
/// what goes out, and their texts speak of nothing but how many events there are.
struct NotificationTemplate: Sendable {
    static func keys(_ platforms: PlatformCatalog) -> [String] {
        RuleTexts.keys + RulePayload.keys(platforms).filter { $0 != "event_data" } + ["urgency"]
    }

    var texts: RuleTexts
    var payload: RulePayload
    /// Nil: that of what it stands for.
    var urgency: Urgency?

    /// Reads it. Without a title it has `title`.
    init?(_ value: YAMLValue, _ context: RuleContext, title: LocalizedTemplate) {
        guard let mapping = value.mapping(keys: Self.keys(context.platforms)) else { return nil }
        texts = RuleTexts(reading: mapping, speakingOf: .batch)
        payload = RulePayload(reading: mapping, context, isAboutEvent: false)
        urgency = mapping["urgency"].flatMap { value in
            value.choice(Urgency.allCases.map(\.name)).flatMap { name in Urgency.allCases.first { $0.name == name } }
        }
        if mapping["title"] == nil { texts.title = title }
        for (key, value) in mapping.members where !RuleTexts.keys.contains(key) { Self.checkVariables(value) }
    }

    /// What has this title and nothing else.
    init(title: LocalizedTemplate) {
        texts = RuleTexts(title: title)
        payload = RulePayload()
    }

    /// Notes each value of a block that speaks of what only an event has.
    private static func checkVariables(_ value: YAMLValue) {
        if value.isMapping {
            for (_, value) in value.mapping()?.members ?? [] { checkVariables(value) }
        } else if value.isList {
            for value in value.list() ?? [] { checkVariables(value) }
        } else if let text = value.writtenText, let template = try? Template(text, in: .paragraph) {
            let strange = template.variables.filter { TemplateVocabulary.batch.variable($0) == nil }
            guard let name = strange.min() else { return }
            value.mistake(TemplateVocabulary.batch.unknownVariable(name).message)
        }
    }
}
