import Core
import Nostr
import Push

/// A rule as written in the file.
struct RuleDefinition: Sendable {
    var name: String
    var place: RulePlace?
    var match: RuleMatch
    /// The signal for device filters and wake-ups; nil means the match stage's choice.
    var signal: Signal?
    /// Whether matching events send no notification.
    var drops = false
    /// The most revealing mode that the rule allows.
    var mode: Mode
    var urgency: Urgency
    var texts: RuleTexts
    var payload: RulePayload
    var pace: RulePace
    /// How texts show the people and events that they mention.
    var mentions: MentionStyle

    /// Whether any of its templates uses a variable.
    func speaks(of variable: String) -> Bool {
        texts.speaksOf(variable) || payload.variables.contains(variable) || pace.key.variables.contains(variable)
    }
}

/// A rule: how one kind of event becomes a notification. It is a class, because each decision returns one.
package final class Rule: Sendable {
    /// For traces and for `carillon rules try`.
    package let name: String
    /// The rule's position in the file.
    package let place: RulePlace?
    let match: RuleMatch
    package let signal: Signal?
    let drops: Bool
    /// The most revealing mode that the rule allows.
    package let mode: Mode
    package let urgency: Urgency
    let texts: RuleTexts
    let payload: RulePayload
    private let pace: RulePace
    let mentions: MentionStyle
    private let forms: StricterForms
    private let needs: RuleNeeds
    /// Whether recipients of the same event may get different notifications.
    package let speaksOfRecipient: Bool

    /// `nudge` is the rule book's, and `shared` the parts that all of its rules have in common.
    init(
        _ definition: RuleDefinition,
        nudge: NeutralTemplates,
        shared: SharedPresentation = SharedPresentation(),
        platforms: PlatformCatalog
    ) {
        name = definition.name
        place = definition.place
        match = definition.match
        signal = definition.signal
        drops = definition.drops
        mode = definition.mode
        urgency = definition.urgency
        texts = definition.texts
        payload = definition.payload
        pace = definition.pace
        mentions = definition.mentions
        forms = StricterForms(definition, nudge, shared, platforms)
        needs = Self.needs(of: definition)
        speaksOfRecipient = ["recipient.pubkey", "recipient.npub"].contains(where: definition.speaks)
    }

    /// Whether its texts depend on the reader's language.
    package var isTranslated: Bool { !texts.languages.isEmpty }

    /// Whether its condition on kinds accepts `kind`.
    package func isFor(_ kind: Kind) -> Bool {
        match.conditions.kinds?.contains(kind.rawValue) ?? true
    }

    /// Whether its notifications show nothing on devices of `platform` in mode alert, and so must not do so in any
    /// other mode.
    package func isSilent(on platform: String) -> Bool { forms.visibility.isSilent(on: platform) }

    /// Returns the context that a notification in `mode` needs in addition to the event. Missing context is omitted.
    /// Wake-ups and nudges need none.
    package func needs(in mode: Mode) -> RuleNeeds {
        min(mode, self.mode) > .nudge ? needs : []
    }

    private static func needs(of rule: RuleDefinition) -> RuleNeeds {
        var needs: RuleNeeds = []
        if rule.speaks(of: "author.name") { needs.insert(.authorName) }
        // The event's own keys contain it, independent of the texts.
        if rule.payload.customKeys.saysEvent || rule.speaks(of: "referenced.kind")
            || rule.speaks(of: "referenced.content")
        {
            needs.insert(.referencedEvent)
        }
        if rule.speaks(of: "referenced.author.pubkey") { needs.insert(.referencedEvent) }
        if rule.speaks(of: "referenced.author.name") { needs.formUnion([.referencedEvent, .referencedAuthorName]) }
        let written = ["event.content", "event.subject", "referenced.content", "zap.comment"]
        if rule.mentions == .names, written.contains(where: rule.speaks) { needs.insert(.mentions) }
        return needs
    }

    // MARK: Pacing

    /// Returns the type of this rule's push to a device of `platform` in `mode`, for pacing.
    package func push(on platform: String, in mode: Mode) -> PacedPush {
        pace.push(on: platform, in: min(mode, self.mode))
    }

    /// The key of a push: pushes of one type with the same key replace each other.
    package func paceKey(of push: PacedPush, _ input: RuleInput, now: Timestamp) -> String {
        let key = pace.key.render(TemplateValues(input, now: now, mentions: mentions))
        // Alerts of two rules have different content. A device has one Live Activity, one widget state and one sync.
        return push.type + "\n" + (key.isEmpty && push.nature == .alert ? name : key)
    }

    // MARK: Rendering

    /// Returns this rule's notification for `input` in the device's `language`, in the stricter of `mode` and the
    /// rule's mode.
    ///
    /// `now` is for relative times. `isSilent` is whether stricter forms must show nothing, see ``isSilent(on:)``.
    package func rendering(
        _ input: consuming RuleInput,
        signal: Signal,
        mode: Mode,
        language: LanguageTag? = nil,
        isSilent: Bool = false,
        now: Timestamp = .epoch
    ) -> Rendering {
        let expiresAt = expiresAt(of: input.facts, in: mode, from: now)
        var rendering = content(of: input, signal: signal, mode: min(mode, self.mode), language: language, now: now)
        if isSilent { rendering.notification.silence() }
        rendering.notification.expiresAt = expiresAt
        return rendering
    }

    /// Returns the notification of ``rendering(_:signal:mode:language:isSilent:now:)``.
    package func render(
        _ input: RuleInput,
        signal: Signal,
        mode: Mode,
        language: LanguageTag? = nil,
        isSilent: Bool = false,
        now: Timestamp = .epoch
    ) -> Notification {
        rendering(input, signal: signal, mode: mode, language: language, isSilent: isSilent, now: now).notification
    }

    /// Whether the rule sends no push to `platform` for some events.
    package func mayWithhold(_ platform: String) -> Bool { payload.blocks.mayWithhold(platform) }

    /// When a notification about an event expires: with the event (NIP-40), or after `expires` if that is earlier. In
    /// mode nudge, the `expires` of the file's `nudge` overrides the rule's. The epoch means that the transport decides.
    package func expiresAt(of event: EventFacts, in mode: Mode, from now: Timestamp) -> Timestamp {
        let end = now.end(of: forms.nudge.lifetime(in: min(mode, self.mode), payload.lifetime))
        return event.expiresAt.earlierExpiry(end)
    }

    private func content(
        of input: consuming RuleInput,
        signal: Signal,
        mode: Mode,
        language: LanguageTag?,
        now: Timestamp
    ) -> Rendering {
        guard mode > .wake else {
            var wakeUp = Notification.wake(signal, urgency: urgency)
            wakeUp.neutralPresentation.native = forms.blocksOfWakeUps.render(TemplateValues(count: 1), now: now)
            return Rendering(notification: wakeUp)
        }
        let form = mode == .sealed ? forms.cover : forms.nudge
        let neutral = form.texts(count: 1, in: language)
        let presentation = form.presentation(count: 1, in: language, now: now)
        guard mode > .nudge else {
            return Rendering(notification: .nudge(signal, urgency: form.urgency(urgency), neutral, presentation))
        }
        let source = TemplateSource(input)
        let values = TemplateValues(source, now: now, mentions: mentions)
        var rendering = Rendering(
            notification: Notification(
                mode: mode,
                signal: signal,
                urgency: mode == .sealed ? form.urgency(urgency) : urgency,
                title: texts.title.render(values, in: language),
                subtitle: texts.subtitle.render(values, in: language),
                body: texts.body.render(values, in: language),
                category: texts.category.render(values),
                thread: texts.thread.render(values),
                collapseKey: texts.collapse.render(values),
                neutral: neutral,
                neutralPresentation: presentation
            )
        )
        rendering.notification.url = rendering.url(texts.url, values, of: "url")
        rendering.notification.actions = texts.actions.enumerated().map { number, action in
            NotificationAction(
                id: action.id.render(values),
                label: action.label.render(values, in: language),
                url: rendering.url(action.url, values, of: "actions[\(number)].url"),
                icon: action.icon.render(values)
            )
        }
        rendering.notification.data = payload.customKeys.render(source, values, now: now, into: &rendering)
        rendering.notification.native = payload.blocks.render(values, now: now, into: &rendering)
        return rendering
    }
}

/// The replacements of a rule's notification in stricter modes.
private struct StricterForms: Sendable {
    /// Replaces its texts in ``Mode/nudge``.
    let nudge: NeutralTemplates
    /// The visible texts around it in ``Mode/sealed``.
    let cover: NeutralTemplates
    /// The blocks of platforms that show wake-ups to people.
    let blocksOfWakeUps: PlatformBlocks
    let visibility: RuleVisibility

    init(
        _ rule: RuleDefinition,
        _ nudge: NeutralTemplates,
        _ shared: SharedPresentation,
        _ platforms: PlatformCatalog
    ) {
        let presentation = RulePresentation(rule.texts, rule.payload.blocks, mode: rule.mode, platforms)
        let common = nudge.template.payload.blocks
        self.nudge = nudge.with(presentation.joined(with: common), category: presentation.category)
        cover = nudge.with(presentation.joined(with: common, sealedAmong: shared), category: shared.category)
        blocksOfWakeUps = presentation.blocksOfWakeUps
        visibility = RuleVisibility(rule.texts, rule.payload.blocks, mode: rule.mode, platforms)
    }
}

/// The context of a rule's notification that is not in the event itself.
package struct RuleNeeds: OptionSet, Sendable, Hashable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    package static let authorName = RuleNeeds(rawValue: 1)
    /// Kind and content of the referenced event.
    package static let referencedEvent = RuleNeeds(rawValue: 2)
    /// The name of that event's author.
    package static let referencedAuthorName = RuleNeeds(rawValue: 4)
    /// Names of mentioned people and excerpts of mentioned events.
    package static let mentions = RuleNeeds(rawValue: 8)
    /// All of them, including those of later versions.
    package static let everything = RuleNeeds(rawValue: .max)

    /// Whether profiles should be kept.
    package var readsProfiles: Bool { !isDisjoint(with: [.authorName, .referencedAuthorName, .mentions]) }
    /// Whether the content of notes should be kept.
    package var readsNotes: Bool { !isDisjoint(with: [.referencedEvent, .mentions]) }
}

/// The position of a rule. Editors and terminals turn the form `file:line` into a link.
package struct RulePlace: Hashable, Sendable, CustomStringConvertible {
    /// The file's name as given.
    package let file: String
    /// Starts at 1.
    package let line: Int

    package var description: String { "\(file):\(line)" }
}

/// The notification that a rule makes from an event, and the omitted values.
package struct Rendering: Sendable {
    package var notification: Notification
    /// The omitted values.
    private(set) var omissions: [Omission] = []

    package init(notification: Notification) {
        self.notification = notification
    }

    /// A value that is omitted, because variables produced a value that is invalid for its key.
    struct Omission: Hashable, Sendable {
        /// Its path in the rule, such as `data.amount`.
        let key: String
        /// The platform of its block; nil means all platforms.
        let platform: String?
        /// Whether the platform gets no push, because it would refuse the block without this value.
        let withholds: Bool
    }

    /// Returns the keys of the rule that are missing from a push to `platform`; nil means a push without a platform's
    /// block.
    package func keysLeftOut(for platform: String?) -> [String] {
        omissions.filter { $0.platform == nil || $0.platform == platform }.map(\.key)
    }

    /// Returns the missing keys that prevent a push to `platform`; empty if it can be sent.
    package func keysWithholding(_ platform: String) -> [String] {
        omissions.filter { $0.platform == platform && $0.withholds }.map(\.key)
    }

    /// Records omissions at `paths` below `key`. They `withhold` the push if the `platform` needs these values.
    mutating func leaveOut(_ paths: OmittedPaths, of key: String, platform: String? = nil, withholds: Bool = false) {
        var paths = paths
        paths.put(key, beforeThoseSince: 0)
        omissions += paths.paths.map { Omission(key: $0, platform: platform, withholds: withholds) }
    }

    /// Returns the URL that `template` produces, or an empty string. Records an omission if the result is invalid, or
    /// empty although the template is only a variable.
    mutating func url(_ template: Template, _ values: TemplateValues, of key: String) -> String {
        let text = template.render(values)
        let url = AbsoluteURL.ifOne(text)
        if url.isEmpty, !text.isEmpty || template.isWholeURL {
            omissions.append(Omission(key: key, platform: nil, withholds: false))
        }
        return url
    }
}
