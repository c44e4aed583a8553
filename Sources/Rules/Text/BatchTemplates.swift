import Notifications
import Platforms
import Units
import YAMLReading

/// The summary of several events. Unless the file says how it makes itself noticed, it does so as its rules do.
struct BatchTemplates: Sendable {
    private static let category = "batch"
    private static let standardTitle = LocalizedTemplate(
        fallback: (try? Template("{{count}} new notifications", speakingOf: .batch)) ?? .empty
    )

    /// Has the texts of the summary.
    private let summary: NotificationTemplate
    /// Replaces it in stricter modes.
    private let nudge: NeutralTemplates

    /// Reads the file's `summary`. Without a title it has the standard one.
    static func summary(_ value: YAMLValue, _ context: RuleContext) -> NotificationTemplate? {
        NotificationTemplate(value, context, title: standardTitle)
    }

    /// The default, if the rules file has none.
    static let standardSummary = NotificationTemplate(title: standardTitle)

    /// `isQuiet` is for batches without any event above urgency low. `rules` are all that wake anybody.
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

    /// One notification for `count` events.
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
            expiresAt: payload.lifetime.end(from: now),
            neutral: neutral,
            neutralPresentation: presentation
        )
    }

    /// The summary's block for a platform, from the blocks of the rules; nil: none.
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

    /// The value of a key in a summary: what the blocks agree on, or what the platform's description says.
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
