import Notifications
import Platforms
import Units
import YAMLReading

/// Replaces a notification that may say nothing about its event (``Mode/nudge``), and wraps a sealed one: the file's
/// `nudge`, and how a rule makes itself noticed. Knows only how many events there are. A class, since it is many
/// templates and each rendering takes one.
final class NeutralTemplates: Sendable {
    let template: NotificationTemplate
    /// For one event, the most frequent case: rendered once.
    private let titleOfOne: LocalizedTemplate
    private let bodyOfOne: LocalizedTemplate

    init(_ template: NotificationTemplate) {
        let one = TemplateValues(count: 1)
        self.template = template
        titleOfOne = template.texts.title.rendered(one)
        bodyOfOne = template.texts.body.rendered(one)
    }

    /// Reads the file's `nudge`. Without a title it has the standard one.
    convenience init?(_ value: YAMLValue, _ context: RuleContext) {
        guard let template = NotificationTemplate(value, context, title: Self.standardTitle) else {
            return nil
        }
        self.init(template)
    }

    /// The default, if the rules file has none.
    static let standard = NeutralTemplates(NotificationTemplate(title: standardTitle))

    private static let standardTitle = LocalizedTemplate(
        fallback: (try? Template(
            "{{#batch}}{{count}} new notifications{{/batch}}{{^batch}}New notification{{/batch}}",
            speakingOf: .batch
        )) ?? .empty
    )

    /// The same with these blocks, and with that category unless it has its own.
    func with(_ blocks: PlatformBlocks, category: String?) -> NeutralTemplates {
        var template = template
        template.payload.blocks = blocks
        if let category, template.texts.category.literal == "" { template.texts.category = Template(literal: category) }
        return NeutralTemplates(template)
    }

    func texts(count: UInt32, in language: LanguageTag?) -> NeutralTexts {
        let values = TemplateValues(count: count)
        let (title, body) = count == 1 ? (titleOfOne, bodyOfOne) : (template.texts.title, template.texts.body)
        return NeutralTexts(title: title.render(values, in: language), body: body.render(values, in: language))
    }

    func presentation(count: UInt32, in language: LanguageTag?, now: Timestamp) -> Presentation {
        let values = TemplateValues(count: count)
        let (texts, payload) = (template.texts, template.payload)
        return Presentation(
            subtitle: texts.subtitle.render(values, in: language),
            category: texts.category.render(values),
            thread: texts.thread.render(values),
            collapseKey: texts.collapse.render(values),
            url: AbsoluteURL.ifOne(texts.url.render(values)),
            actions: texts.buttons(values, in: language),
            data: payload.customKeys.render(values, now: now),
            native: payload.blocks.render(values, now: now)
        )
    }

    /// The urgency of a stricter form of a notification with `urgency`: never higher.
    func urgency(_ urgency: Urgency) -> Urgency {
        guard let own = template.urgency, own.rawValue < urgency.rawValue else { return urgency }
        return own
    }
}

/// The file's `summary` and `nudge`, which are about no event in particular. They have the keys of a rule that say what
/// goes out, and their texts know only how many events there are.
struct NotificationTemplate: Sendable {
    static func keys(_ platforms: PlatformCatalog) -> [String] {
        RuleTexts.keys + RulePayload.keys(platforms).filter { $0 != "event_data" } + ["urgency"]
    }

    var texts: RuleTexts
    var payload: RulePayload
    /// Nil: the urgency of the events.
    var urgency: Urgency?

    /// Without a title of its own it has `title`.
    init?(_ value: YAMLValue, _ context: RuleContext, title: LocalizedTemplate) {
        let keys = Self.keys(context.platforms)
        guard let mapping = value.mapping(keys: keys, missing: RuleBook.missingBlock) else { return nil }
        texts = RuleTexts(reading: mapping, speakingOf: .batch)
        payload = RulePayload(reading: mapping, context, isAboutEvent: false)
        urgency = mapping["urgency"].flatMap { value in
            value.choice(Urgency.allCases.map(\.name)).flatMap { name in Urgency.allCases.first { $0.name == name } }
        }
        if mapping["title"] == nil { texts.title = title }
        for (key, value) in mapping.members where !RuleTexts.keys.contains(key) { Self.checkVariables(value) }
    }

    /// A template with this title and nothing else.
    init(title: LocalizedTemplate) {
        texts = RuleTexts(title: title)
        payload = RulePayload()
    }

    /// Reports each value of a block that uses variables of an event.
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
