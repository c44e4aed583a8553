import Core
import Push
import Storage

/// The templates of a notification that must not reveal its event (``Mode/nudge``), and of the visible part of a sealed
/// one. They combine the file's `nudge` with sounds and the like of a rule, and know only the number of events. This is
/// a class, because it contains many templates and each rendering uses it.
final class NeutralTemplates: Sendable {
    let template: NotificationTemplate
    /// The texts for one event, rendered once because this case is the most frequent.
    private let titleOfOne: LocalizedTemplate
    private let bodyOfOne: LocalizedTemplate

    init(_ template: NotificationTemplate) {
        let one = TemplateValues(count: 1)
        self.template = template
        titleOfOne = template.texts.title.rendered(one)
        bodyOfOne = template.texts.body.rendered(one)
    }

    /// Reads the file's `nudge`. Default title: the standard one.
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

    /// Returns the same templates with these blocks, and with `category` as the default.
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

    /// The lifetime of a notification that these replace in ``Mode/nudge``, with `lifetime` as the default.
    func lifetime(in mode: Mode, _ lifetime: Duration?) -> Duration? {
        (mode == .nudge ? template.payload.lifetime : nil) ?? lifetime
    }

    /// The urgency of a stricter form of a notification with `urgency`: never higher.
    func urgency(_ urgency: Urgency) -> Urgency {
        guard let own = template.urgency, own.rawValue < urgency.rawValue else { return urgency }
        return own
    }
}

/// The file's `summary` or `nudge`, which belong to no single event. They have the keys of a rule for the notification,
/// and their texts know only the number of events.
struct NotificationTemplate: Sendable {
    static func keys(_ platforms: PlatformCatalog) -> [String] {
        RuleTexts.keys + RulePayload.keys(platforms).filter { $0 != "event_data" } + ["urgency"]
    }

    var texts: RuleTexts
    var payload: RulePayload
    /// Nil means the urgency of the events.
    var urgency: Urgency?

    /// `title` is the default title.
    init?(_ value: YAMLValue, _ context: RuleContext, title: LocalizedTemplate) {
        let keys = Self.keys(context.platforms)
        guard let mapping = value.mapping(keys: keys, missing: RuleBook.missingBlock) else { return nil }
        texts = RuleTexts(reading: mapping, speakingOf: .batch)
        payload = RulePayload(reading: mapping, context, isSummary: true, hasEvent: false)
        urgency = mapping["urgency"].flatMap { value in
            value.choice(Urgency.allCases.map(\.name)).flatMap { name in Urgency.allCases.first { $0.name == name } }
        }
        if mapping["title"] == nil { texts.title = title }
        for (key, value) in mapping.members where !RuleTexts.keys.contains(key) { Self.checkVariables(value) }
    }

    /// Creates a template that has only this title.
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

/// The summary of several events. The default of its blocks is derived from the rules' blocks.
struct BatchTemplates: Sendable {
    private static let category = "batch"
    private static let standardTitle = LocalizedTemplate(
        fallback: (try? Template("{{count}} new notifications", speakingOf: .batch)) ?? .empty
    )

    /// The texts of the summary.
    private let summary: NotificationTemplate
    /// Replaces it in stricter modes.
    private let nudge: NeutralTemplates

    /// Reads the file's `summary`. Default title: the standard one.
    static func summary(_ value: YAMLValue, _ context: RuleContext) -> NotificationTemplate? {
        NotificationTemplate(value, context, title: standardTitle)
    }

    /// The default, if the rules file has none.
    static let standardSummary = NotificationTemplate(title: standardTitle)

    /// `isQuiet` is for batches without events above urgency low. `rules` are all that send notifications.
    init(
        _ summary: NotificationTemplate,
        _ nudge: NeutralTemplates,
        standingFor rules: [Rule],
        isQuiet: Bool,
        _ platforms: PlatformCatalog
    ) {
        var summary = summary
        let blocks = PlatformBlocks(
            platforms.platforms.compactMap { platform in
                platforms[platform]?.batch.flatMap { Self.block($0, of: rules, on: platform, isQuiet: isQuiet) }
                    .map { (platform, $0) }
            }
        )
        summary.payload.blocks = summary.payload.blocks.adding(blocks)
        if summary.texts.category.literal == "" { summary.texts.category = Template(literal: Self.category) }
        self.summary = summary
        self.nudge = nudge.with(nudge.template.payload.blocks.addingMembers(of: blocks), category: Self.category)
    }

    /// Returns one notification for `count` events.
    func render(
        count: UInt32,
        signal: Signal,
        urgency: Urgency,
        mode: Mode,
        language: LanguageTag?,
        now: Timestamp
    ) -> Notification {
        let neutral = nudge.texts(count: count, in: language)
        let presentation = nudge.presentation(count: count, in: language, now: now)
        guard mode > .nudge else {
            return .nudge(signal, urgency: nudge.urgency(urgency), count: count, neutral, presentation)
        }
        let values = TemplateValues(count: count)
        let (texts, payload) = (summary.texts, summary.payload)
        return Notification(
            mode: mode,
            signal: signal,
            urgency: summary.urgency ?? urgency,
            count: count,
            title: texts.title.render(values, in: language),
            subtitle: texts.subtitle.render(values, in: language),
            body: texts.body.render(values, in: language),
            category: texts.category.render(values),
            thread: texts.thread.render(values),
            collapseKey: texts.collapse.render(values),
            url: AbsoluteURL.ifOne(texts.url.render(values)),
            actions: texts.buttons(values, in: language),
            data: payload.customKeys.render(values, now: now),
            native: payload.blocks.render(values, now: now),
            neutral: neutral,
            neutralPresentation: presentation
        )
    }

    /// Returns the summary's block for a platform, derived from the blocks of the rules; nil if there is none.
    private static func block(
        _ summary: SummaryBlock,
        of rules: [Rule],
        on platform: String,
        isQuiet: Bool
    ) -> JSONTemplate? {
        let counted = rules.filter { rule in
            let facts = rule.payload.blocks.facts(of: platform, hasTexts: rule.texts.showAnything)
            return !(summary.isOfShownRules && rule.isSilent(on: platform)) && summary.of?.holds(facts) ?? true
        }
        guard summary.of == nil || !counted.isEmpty else { return nil }
        let blocks = counted.map { JSONTemplate.joined($0.payload.blocks.members(of: platform)) }
        var members: [JSONTemplate.Member] = []
        for member in summary.members {
            guard let value = value(of: member, in: blocks, isQuiet: isQuiet) else { continue }
            let path = member.path.keys
            let nested = path.dropFirst().reversed().reduce(value) {
                .joined([JSONTemplate.Member(key: $1, value: $0)])
            }
            if let index = members.firstIndex(where: { $0.key == path[0] }) {
                members[index].value = .joined((members[index].value.members ?? []) + (nested.members ?? []))
            } else {
                members.append(JSONTemplate.Member(key: path[0], value: nested))
            }
        }
        return members.isEmpty ? nil : .joined(members)
    }

    /// The value of a key in a summary: the one that all blocks share, or the one in the platform's description.
    private static func value(
        of member: SummaryBlock.Member,
        in blocks: [JSONTemplate],
        isQuiet: Bool
    ) -> JSONTemplate? {
        func json(_ text: String) -> JSONTemplate { .constant(Array(text.utf8)) }
        if let always = member.always { return json(always) }
        switch member.quiet {
        case .leftOut where isQuiet: return nil
        case .json(let text) where isQuiet: return json(text)
        default: break
        }
        let values = blocks.compactMap { $0.value(at: member.path.keys) }
        guard let first = values.first else { return nil }
        if values.count < blocks.count {
            switch member.unlessAll {
            case .unnamed: break
            case .leftOut: return nil
            case .json(let text): return json(text)
            }
        }
        let isSame = first.json != nil && values.allSatisfy { $0.json == first.json }
        return isSame ? first : member.differing.map(json)
    }
}
