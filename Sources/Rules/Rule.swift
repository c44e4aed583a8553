import Notifications
import Platforms

/// What one kind of event becomes. A class, because each decision returns one.
package final class Rule: Sendable {
    /// For traces and for `carillon rules try`.
    package let name: String
    /// Its place in the file.
    package let place: RulePlace?
    let match: RuleMatch
    /// The signal that device filters and wake-ups use; nil: the one that the match stage chose.
    let signal: Signal?
    /// Such events wake nobody.
    let drops: Bool
    /// The most a push service may see.
    package let mode: Mode
    package let urgency: Urgency
    let texts: RuleTexts
    let payload: RulePayload
    let pace: RulePace
    /// Replaces its texts in ``Mode/nudge``.
    let nudge: NeutralTemplates
    /// Wraps them in ``Mode/sealed``.
    let cover: NeutralTemplates
    /// How platforms show wake-ups to people.
    let blocksOfWakeUps: PlatformBlocks
    private let visibility: RuleVisibility
    /// How texts spell what they mention.
    let mentions: MentionStyle
    private let needs: RuleNeeds
    private let platforms: PlatformCatalog

    /// `nudge` is the rule book's, and `shared` what all of its rules have in common.
    init(
        name: String,
        place: RulePlace? = nil,
        match: RuleMatch,
        signal: Signal?,
        drops: Bool,
        mode: Mode,
        urgency: Urgency,
        texts: RuleTexts,
        payload: RulePayload,
        pace: RulePace,
        nudge: NeutralTemplates,
        mentions: MentionStyle = .raw,
        shared: SharedPresentation = SharedPresentation(),
        platforms: PlatformCatalog
    ) {
        self.platforms = platforms
        self.name = name
        self.place = place
        self.match = match
        self.signal = signal
        self.drops = drops
        self.mode = mode
        self.urgency = urgency
        self.texts = texts
        self.payload = payload
        self.pace = pace
        let presentation = RulePresentation(texts, payload.blocks, mode: mode, platforms)
        let common = nudge.template.payload.blocks
        self.nudge = nudge.with(presentation.joined(with: common), category: presentation.category)
        cover = nudge.with(presentation.joined(with: common, sealedAmong: shared), category: shared.category)
        blocksOfWakeUps = presentation.blocksOfWakeUps
        visibility = RuleVisibility(texts, payload.blocks, mode: mode, platforms)
        self.mentions = mentions
        needs = Self.needs(of: texts, payload, pace, mentions)
    }

    /// The same rule in a book whose rules have `shared` in common.
    convenience init(_ rule: Rule, nudge: NeutralTemplates, shared: SharedPresentation) {
        self.init(
            name: rule.name,
            place: rule.place,
            match: rule.match,
            signal: rule.signal,
            drops: rule.drops,
            mode: rule.mode,
            urgency: rule.urgency,
            texts: rule.texts,
            payload: rule.payload,
            pace: rule.pace,
            nudge: nudge,
            mentions: rule.mentions,
            shared: shared,
            platforms: rule.platforms
        )
    }

    /// Whether its notifications show nothing on devices of `platform` in mode alert, and so may show nothing in any
    /// other mode.
    package func isSilent(on platform: String) -> Bool { visibility.isSilent(on: platform) }

    /// What a notification in `mode` needs besides the event. It goes out without what is still unknown then.
    package func needs(in mode: Mode) -> RuleNeeds {
        min(mode, self.mode) > .nudge ? needs : []
    }

    private static func needs(
        of texts: RuleTexts,
        _ payload: RulePayload,
        _ pace: RulePace,
        _ mentions: MentionStyle
    ) -> RuleNeeds {
        func speaks(of variable: String) -> Bool {
            texts.speaksOf(variable) || payload.variables.contains(variable) || pace.key.variables.contains(variable)
        }
        var needs: RuleNeeds = []
        if speaks(of: "author.name") { needs.insert(.authorName) }
        // The event's own keys carry it, whatever the texts say.
        if payload.customKeys.saysEvent || speaks(of: "referenced.kind") || speaks(of: "referenced.content") {
            needs.insert(.referencedEvent)
        }
        if speaks(of: "referenced.author.pubkey") { needs.insert(.referencedEvent) }
        if speaks(of: "referenced.author.name") { needs.formUnion([.referencedEvent, .referencedAuthorName]) }
        let written = ["event.content", "event.subject", "referenced.content", "zap.comment"]
        if mentions == .names, written.contains(where: speaks) { needs.insert(.mentions) }
        return needs
    }
}

/// What a rule's notification mentions that is not in the event itself.
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

/// The place of a rule. Editors and terminals turn the form `file:line` into a link.
package struct RulePlace: Hashable, Sendable, CustomStringConvertible {
    /// The file's name as it was given.
    package let file: String
    /// From 1.
    package let line: Int

    package var description: String { "\(file):\(line)" }
}
