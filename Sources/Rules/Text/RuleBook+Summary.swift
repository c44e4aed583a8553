import Notifications
import YAMLReading

/// What stands for several events at once. Where the file does not say how it makes itself noticed, it does as the
/// rules do that it stands for.
struct BatchTemplates: Sendable {
    private static let category = "batch"
    private static let standardTitle = LocalizedTemplate(
        fallback: (try? Template("{{count}} new notifications", speakingOf: .batch)) ?? .empty
    )

    /// Says everything that a summary says.
    private let summary: NotificationTemplate
    /// Stands in its place.
    private let nudge: NeutralTemplates

    /// Reads the file's `summary`. Without a title it has the standard one.
    static func summary(_ value: YAMLValue, categories: ButtonCategories) -> NotificationTemplate? {
        NotificationTemplate(value, categories: categories, title: standardTitle)
    }

    /// In force where the rules file says nothing.
    static let standardSummary = NotificationTemplate(title: standardTitle)

    /// `isQuiet`: for batches none of whose events is more urgent than low. `rules` are all that wake anybody.
    init(_ summary: NotificationTemplate, _ nudge: NeutralTemplates, standingFor rules: [Rule], isQuiet: Bool) {
        var summary = summary
        let blocks = Self.blocks(of: rules, isQuiet: isQuiet)
        summary.payload.blocks = summary.payload.blocks.adding(blocks)
        if summary.texts.category.literal == "" { summary.texts.category = Template(literal: Self.category) }
        self.summary = summary
        self.nudge = nudge.with(nudge.template.payload.blocks.addingMembers(of: blocks), category: Self.category)
    }

    /// One notification for `count` events; `now` is in milliseconds since 1970.
    func render(
        count: UInt32,
        signal: Signal,
        urgency: Urgency,
        mode: Mode,
        language: LanguageTag?,
        now: Int64
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

    /// Sound and badge as the rules have them, and FCM's own drawing where a rule leaves that to it: its app draws
    /// nothing.
    private static func blocks(of rules: [Rule], isQuiet: Bool) -> PlatformBlocks {
        var apns = [JSONTemplate.Member(key: "mutable-content", value: .literal(1))]
        let apple = rules.filter { !$0.isSilent(on: "ios") }.map { $0.payload.blocks.members(of: "ios") }
        if !isQuiet, var sound = common("sound", apple, else: .literal("default")) {
            // One rule's critical sound is not for what other rules tell.
            if !apple.allSatisfy({ $0.contains { $0.key == "sound" } }) { sound.value = .literal("default") }
            apns.append(sound)
        }
        if let badge = common("badge", apple, else: .literal(1)) { apns.append(badge) }
        if isQuiet {
            apns.append(JSONTemplate.Member(key: "interruption-level", value: .literal("passive")))
        } else if apple.allSatisfy({ $0.contains { $0.key == "interruption-level" } }),
            let level = common("interruption-level", apple, else: nil)
        {
            apns.append(level)
        }
        var blocks: [(platform: String, template: JSONTemplate)] = [("ios", .joined(apns))]
        let google = rules.map { $0.payload.blocks.members(of: "android") }.filter {
            $0.contains { $0.key == "style" && $0.value.json == #""notification""# }
        }
        if !google.isEmpty {
            let shown = google.map { $0.first { $0.key == "notification" }?.value.members ?? [] }
            var fcm = [JSONTemplate.Member(key: "style", value: .literal("notification"))]
            if let channel = common("channelId", shown, else: nil) {
                fcm.append(JSONTemplate.Member(key: "notification", value: .joined([channel])))
            }
            blocks.append(("android", .joined(fcm)))
        }
        return PlatformBlocks(blocks)
    }

    /// The value that all of the blocks with that key have, or `fallback` where they differ; nil where none has it.
    private static func common(
        _ key: String,
        _ blocks: [[JSONTemplate.Member]],
        else fallback: JSONTemplate?
    ) -> JSONTemplate.Member? {
        let values = blocks.compactMap { $0.first { $0.key == key }?.value }
        guard let first = values.first else { return nil }
        let isSame = first.json != nil && values.allSatisfy { $0.json == first.json }
        return (isSame ? first : fallback).map { JSONTemplate.Member(key: key, value: $0) }
    }
}

extension RuleBook {
    /// One notification for `count` events that waited for each other, in the device's language; `now` is in
    /// milliseconds since 1970.
    package func renderSummary(
        count: UInt32,
        signal: Signal,
        urgency: Urgency,
        mode: Mode,
        language: LanguageTag? = nil,
        now: Int64 = 0
    ) -> Notification {
        guard mode > .wake else { return .wake(signal, urgency: urgency, count: count) }
        return (urgency == .low ? quietBatch : batch)
            .render(count: count, signal: signal, urgency: urgency, mode: mode, language: language, now: now)
    }
}
