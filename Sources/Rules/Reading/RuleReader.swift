import Nostr
import Notifications
import YAMLReading

/// Reads one rule. It notes mistakes and leaves out what it cannot read, so that the rest is checked as well.
///
/// Each part of a rule knows and reads its own keys: ``MatchReader`` the conditions, ``RuleTexts`` the texts,
/// ``RulePayload`` the rest of the payload.
struct RuleReader {
    /// Names end up in traces and labels, so they are kept short.
    private static let nameLimit = 64

    /// From 1; names a rule without a name.
    let number: Int
    /// The file of the rule.
    let file: RulesFile
    /// The platforms and categories for its blocks.
    let context: RuleContext
    /// Replaces texts that may not be seen.
    let nudge: NeutralTemplates
    /// How texts spell `nostr:` URIs, unless the rule says it.
    let mentions: MentionStyle

    func rule(_ value: YAMLValue) -> Rule? {
        guard let rule = value.mapping(keys: keys, missing: RuleBook.missingBlock) else { return nil }
        let match = MatchReader(file: file, platforms: context.platforms).match(rule["match"])
        let drops = rule["drop"]?.bool() ?? false
        if drops { checkSilence(of: rule) } else if rule["signal"] == nil { checkSignals(of: match, value) }
        let definition = RuleDefinition(
            name: name(rule),
            place: RulePlace(file: value.file.name, line: value.line),
            match: match,
            signal: rule["signal"].flatMap(Self.signal),
            drops: drops,
            mode: rule["mode"].flatMap(mode) ?? .alert,
            urgency: rule["urgency"].flatMap(urgency) ?? .normal,
            texts: RuleTexts(reading: rule),
            payload: RulePayload(reading: rule, context),
            pace: RulePace(reading: rule, context.platforms),
            mentions: rule["mentions"].flatMap(MentionStyle.init) ?? mentions
        )
        return Rule(definition, nudge: nudge, platforms: context.platforms)
    }

    private var keys: [String] {
        ["name", "match", "drop", "signal", "mode", "urgency", "mentions"] + RuleTexts.keys
            + RulePayload.keys(context.platforms) + RulePace.keys
    }

    /// A rule that drops its events shows nothing to anybody.
    private func checkSilence(of rule: YAMLMapping) {
        for (key, value) in rule.members where !["name", "match", "drop"].contains(key) {
            value.mistake("the rule drops its events, so nobody would see this: leave out '\(key)' or 'drop'")
        }
    }

    /// Without a signal that registrations can switch on, an event wakes nobody.
    private func checkSignals(of match: RuleMatch, _ value: YAMLValue) {
        let strange = (match.kinds ?? []).subtracting(KnownKinds.withSignal).sorted()
        guard let first = strange.first else { return }
        value.mistake(
            "'signal' is missing: Carillon has no word for kind \(first), by which registrations would ask for it"
        )
    }

    /// A signal is `t` in payloads and a metric's label, so it is a short plain word.
    static func signal(_ value: YAMLValue) -> Signal? {
        guard let word = value.string() else { return nil }
        let plain = word.utf8.allSatisfy {
            (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F || $0 == 0x2D
        }
        guard plain, (1...32).contains(word.utf8.count), word != "batch" else {
            value.mistake("expected 1 to 32 of a-z, 0-9, _ and -, and not 'batch'")
            return nil
        }
        return Signal(rawValue: word)
    }

    private func name(_ rule: YAMLMapping) -> String {
        guard let value = rule["name"], let name = value.string() else { return "rule-\(number)" }
        if name.isEmpty || name.count > Self.nameLimit { value.mistake("expected 1 to \(Self.nameLimit) characters") }
        return name
    }

    func mode(_ value: YAMLValue) -> Mode? {
        value.choice(Mode.allCases.map(\.name)).flatMap { Mode(name: $0) }
    }

    func urgency(_ value: YAMLValue) -> Urgency? {
        value.choice(Urgency.allCases.map(\.name)).flatMap { name in Urgency.allCases.first { $0.name == name } }
    }
}
