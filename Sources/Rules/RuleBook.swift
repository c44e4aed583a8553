import Core
import Nostr
import Push
import Storage

/// An operator's rules in order. The first match decides. Apps may have separate books.
package struct RuleBook: Sendable {
    package let rules: [Rule]
    /// The rules file's `summary`.
    private let summary: NotificationTemplate
    let nudge: NeutralTemplates
    /// The templates of batches, made from `summary`, `nudge` and the rules.
    private let batch: BatchTemplates
    /// The same if all events of the batch have low urgency.
    private let quietBatch: BatchTemplates
    private let index: RuleIndex
    private let platforms: PlatformCatalog
    /// The languages of conditions and texts, without duplicates.
    package let languages: [LanguageTag]
    /// Whether any rule depends on contact lists.
    package let asksForFollows: Bool
    /// Whether any rule depends on the device's platform.
    package let asksForPlatform: Bool
    /// Whether any rule depends on the device's app.
    package let asksForApp: Bool
    /// Warnings about all rules files, including those of single apps.
    package let warnings: [Diagnostic]
    /// The books of apps with separate rules: these come first, then the common ones.
    package let ofApps: [String: RuleBook]

    /// `platforms` are the platforms that have blocks in rules.
    init(
        rules: [Rule],
        summary: NotificationTemplate,
        nudge: NeutralTemplates,
        warnings: [Diagnostic] = [],
        ofApps: [String: RuleBook] = [:],
        platforms: PlatformCatalog
    ) {
        let telling = rules.filter { !$0.drops && $0.mode > .wake }
        self.rules = rules
        self.warnings = ofApps.sorted { $0.key < $1.key }.flatMap(\.value.warnings).reduce(into: warnings) {
            if !$0.contains($1) { $0.append($1) }
        }
        self.ofApps = ofApps
        self.platforms = platforms
        self.summary = summary
        self.nudge = nudge
        batch = BatchTemplates(summary, nudge, standingFor: telling, isQuiet: false, platforms)
        quietBatch = BatchTemplates(summary, nudge, standingFor: telling, isQuiet: true, platforms)
        index = RuleIndex(rules)
        let apps = ofApps.values
        languages = Self.languages(of: rules, summary.texts, nudge.template.texts, apps.flatMap(\.languages))
        asksForFollows =
            rules.contains { $0.match.conditions.isFollowed != nil } || apps.contains(where: \.asksForFollows)
        asksForPlatform =
            rules.contains { $0.match.conditions.platforms != nil } || apps.contains(where: \.asksForPlatform)
        asksForApp = rules.contains { $0.match.conditions.apps != nil } || !ofApps.isEmpty
    }

    /// Returns the same book with books of apps.
    func with(_ ofApps: [String: RuleBook]) -> RuleBook {
        RuleBook(rules: rules, summary: summary, nudge: nudge, warnings: warnings, ofApps: ofApps, platforms: platforms)
    }

    /// The book for devices of that app.
    package subscript(app: String) -> RuleBook { ofApps[app] ?? self }

    /// Returns the context that any notification in `mode` may need, for all apps.
    package func needs(in mode: Mode) -> RuleNeeds {
        let common = rules.reduce(into: RuleNeeds()) { $0.formUnion($1.needs(in: mode)) }
        return ofApps.values.reduce(into: common) { $0.formUnion($1.needs(in: mode)) }
    }

    /// The rules' decision about an event for one recipient.
    package enum Decision: Sendable {
        /// Notify the recipient's devices that want `signal`.
        case notify(Rule, Signal)
        /// A rule drops such events.
        case drop(Rule)
        /// No rule matches, or the event has no signal.
        case unmatched
    }

    /// The decision of the first rule that matches.
    package func decide(_ question: RuleQuestion) -> Decision {
        if let book = ofApps[question.app] { return book.decide(question) }
        for rule in index[question.event.kind.rawValue] where rule.match.holds(for: question) {
            if rule.drops {
                // Otherwise people without a known list would get no notifications.
                if rule.match.conditions.isFollowed == false, question.isAuthorFollowed == nil { continue }
                return .drop(rule)
            }
            guard let signal = rule.signal ?? question.signal else { return .unmatched }
            return .notify(rule, signal)
        }
        return .unmatched
    }

    /// The kinds that rules can notify about. Nil if some rule accepts all kinds, so that every event must be checked.
    /// The gate drops every other kind.
    package var notifiableKinds: Set<UInt16>? {
        var kinds: Set<UInt16> = []
        for rule in rules where !rule.drops {
            guard
                let possible = rule.match.conditions.kinds ?? rule.match.conditions.impliedKinds(forSignal: rule.signal)
            else { return nil }
            kinds.formUnion(possible)
        }
        for book in ofApps.values {
            guard let further = book.notifiableKinds else { return nil }
            kinds.formUnion(further)
        }
        return kinds
    }

    /// The signals of the rules, without the well-known ones.
    package var namedSignals: Set<Signal> {
        ofApps.values.reduce(into: Set(rules.compactMap(\.signal)).subtracting(Signal.wellKnown)) {
            $0.formUnion($1.namedSignals)
        }
    }

    /// Whether any rule depends on the device's language.
    package var asksForLanguage: Bool {
        !languages.isEmpty
    }

    /// The number of events that were too expensive for a pattern and thus did not match, by rule name. They should be
    /// logged: such events may be an attack, or the pattern needs a correction.
    package var exceededPatterns: [String: UInt64] {
        let counts: [String: UInt64] = rules.reduce(into: [:]) { counts, rule in
            let count = rule.match.conditions.values.reduce(0) { $0 + ($1.pattern?.exceededCount ?? 0) }
            if count > 0 { counts[rule.name, default: 0] += count }
        }
        return ofApps.values.reduce(into: counts) { $0.merge($1.exceededPatterns, uniquingKeysWith: +) }
    }

    /// Returns one notification for `count` batched events, in the device's language.
    package func renderSummary(
        count: UInt32,
        signal: Signal,
        urgency: Urgency,
        mode: Mode,
        language: LanguageTag? = nil,
        now: Timestamp = .epoch
    ) -> Notification {
        var notification = Notification.wake(signal, urgency: urgency, count: count)
        if mode > .wake {
            notification = (urgency == .low ? quietBatch : batch)
                .render(count: count, signal: signal, urgency: urgency, mode: mode, language: language, now: now)
        }
        notification.expiresAt = now.end(of: nudge.lifetime(in: mode, summary.payload.lifetime))
        return notification
    }

    /// The languages of conditions and texts; the language of defaults is unknown.
    private static func languages(
        of rules: [Rule],
        _ summary: RuleTexts,
        _ nudge: RuleTexts,
        _ further: [LanguageTag]
    ) -> [LanguageTag] {
        let all = rules.reduce(into: summary.languages.union(nudge.languages).union(further)) {
            $0.formUnion($1.texts.languages)
            $0.formUnion($1.match.conditions.languages ?? [])
        }
        return all.sorted { $0.description < $1.description }
    }
}

/// The rules that can match a kind, in order.
struct RuleIndex: Sendable {
    private let byKind: [UInt16: [Rule]]
    /// Rules for the kinds that no rule names.
    private let others: [Rule]

    init(_ rules: [Rule]) {
        let named = rules.reduce(into: Set<UInt16>()) { $0.formUnion($1.match.conditions.kinds ?? []) }
        byKind = Dictionary(
            uniqueKeysWithValues: named.map { kind in
                (kind, rules.filter { $0.match.conditions.kinds?.contains(kind) ?? true })
            }
        )
        others = rules.filter { $0.match.conditions.kinds == nil }
    }

    subscript(kind: UInt16) -> [Rule] { byKind[kind] ?? others }
}

/// An overview of a file's rules for operators: their number, kinds and signals.
package struct RuleOutline: Hashable, Sendable {
    /// The number of rules.
    package var count = 0
    /// The number of rules that drop their events.
    package var dropCount = 0
    /// The kinds that they name, without those that are only dropped.
    package var kinds: Set<UInt16> = []
    /// Whether a rule that does not drop accepts all kinds.
    package var isForAllKinds = false
    /// The signals that they name.
    package var signals: Set<Signal> = []
    /// Whether a rule uses the match stage's signal.
    package var takesSignalsOfEvents = false
}

extension RuleBook {
    /// Returns the outline of the rules in `file`, including rules for one app.
    package func outline(of file: String) -> RuleOutline {
        let books = [self] + ofApps.values
        let rules = books.lazy.map { $0.rules.filter { $0.place?.file == file } }.first { !$0.isEmpty } ?? []
        var outline = RuleOutline()
        for rule in rules {
            outline.count += 1
            guard !rule.drops else {
                outline.dropCount += 1
                continue
            }
            if let kinds = rule.match.conditions.kinds {
                outline.kinds.formUnion(kinds)
            } else {
                outline.isForAllKinds = true
            }
            if let signal = rule.signal {
                outline.signals.insert(signal)
            } else {
                outline.takesSignalsOfEvents = true
            }
        }
        return outline
    }
}
