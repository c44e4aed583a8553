import Push
import Storage

/// Whether a rule's notifications show or play anything in mode alert, on each platform. If not, they are silent in
/// every other mode too.
struct RuleVisibility: Sendable {
    private let hasTexts: Bool
    /// Platforms whose block decides, not the texts.
    private let exceptions: [String: Bool]
    /// Whether some mode shows the rule's texts.
    private let isTold: Bool

    init(_ texts: RuleTexts, _ blocks: PlatformBlocks, mode: Mode, _ platforms: PlatformCatalog) {
        let hasTexts = texts.showAnything
        self.hasTexts = hasTexts
        isTold = mode > .nudge
        var exceptions: [String: Bool] = [:]
        for platform in blocks.platforms {
            let pushes = platforms[platform]?.pushes ?? PushKinds()
            let shows = pushes.kind(of: blocks.facts(of: platform, hasTexts: hasTexts)).shows
            // A rule that never shows more than a nudge has no texts to show.
            if let shows, isTold || !shows { exceptions[platform] = shows }
        }
        self.exceptions = exceptions
    }

    func isSilent(on platform: String) -> Bool {
        if let shows = exceptions[platform] { return !shows }
        return isTold && !hasTexts
    }
}

/// How the pushes of one rule are paced: its `pace` and `key`, and the kind of its pushes on each platform.
struct RulePace: Sendable {
    /// The keys of a rule that are read here.
    static let keys = ["pace", "key"]

    /// Pushes with the same key replace each other if only the latest counts. If empty, those of the same type or the
    /// same rule do.
    let key: Template
    private let pushes: [String: PacedPush]
    /// For platforms without a description.
    private let others: PacedPush

    init(reading rule: YAMLMapping, _ platforms: PlatformCatalog) {
        // In mode nudge it shows the file's neutral text.
        let hasTexts = rule.hasTexts || rule["mode"]?.literal == Mode.nudge.name
        let stated = rule["pace"]?.choice(PushPace.allCases.map(\.rawValue)).flatMap(PushPace.init)
        var pushes: [String: PacedPush] = [:]
        for platform in platforms.platforms {
            guard let description = platforms[platform] else { continue }
            let value =
                description.block.map { rule[$0] }
                ?? rule["native"].flatMap { $0.isMapping ? $0.mapping() : nil }?[platform]
            let block = WrittenBlock(
                value.flatMap { $0.isMapping ? $0.mapping() : nil },
                schema: description.rules,
                rule: rule,
                hasTexts: hasTexts,
                isSummary: false
            )
            pushes[platform] = PacedPush(description.pushes.kind(of: block)).paced(stated)
        }
        self.pushes = pushes
        others = (hasTexts ? PacedPush.alert : .data).paced(stated)
        key = rule["key"].flatMap { Template.read($0, in: .identifier) } ?? .empty
        let mayReplace = (pushes.values + [others]).contains { $0.pace == .latest || $0.nature == .special }
        if let key = rule["key"], !mayReplace {
            key.mistake("'pace: latest' is missing: 'key' says which pushes replace each other")
        }
    }

    /// The rule's push to a device of `platform` in `mode`.
    func push(on platform: String, in mode: Mode) -> PacedPush {
        let push = pushes[platform] ?? others
        return mode == .wake ? push.wakeUp : push
    }
}

/// The properties of a push that pacing needs.
package struct PacedPush: Sendable, Hashable {
    /// The push service's name of its type, such as `liveactivity`. Pushes of different types are never merged.
    package var type: String
    package var nature: PushNature
    package var pace: PushPace
    /// Whether `pace` overrides the rule.
    private let isFixed: Bool

    static let alert = PacedPush(PushKind.alert)
    /// A message that only contains keys for the app.
    static let data = PacedPush(PushKind.data)

    init(_ kind: PushKind) {
        self.init(type: kind.paceName, nature: kind.nature, pace: kind.pace, isFixed: kind.isFixed)
    }

    private init(type: String, nature: PushNature, pace: PushPace, isFixed: Bool = false) {
        self.type = type
        self.nature = nature
        self.pace = pace
        self.isFixed = isFixed
    }

    /// Returns this push with a rule's pace. Only alerts and silent pushes can be batched.
    func paced(_ stated: PushPace?) -> PacedPush {
        guard let stated, !isFixed else { return self }
        var push = self
        push.pace = stated == .batch && nature == .special ? .latest : stated
        return push
    }

    /// The wake-up for this push in ``Mode/wake``. Wake-ups have no content to replace, so held ones are counted.
    var wakeUp: PacedPush {
        PacedPush(type: "wake", nature: .silent, pace: pace == .immediate ? .immediate : .batch)
    }
}
