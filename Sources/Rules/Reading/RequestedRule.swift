import JSON
import Push
import Storage

/// What is wrong with a notification that somebody asks for.
package struct RequestedRuleError: Error, Sendable {
    package struct Mistake: Sendable, Hashable {
        /// A JSON pointer (RFC 6901) to the value.
        package let pointer: String
        package let message: String
    }

    /// At least one.
    package let mistakes: [Mistake]
}

extension Rule {
    /// The rule that makes what a client asks for of an event that says nothing itself: `object` says it as rules files
    /// do, but its texts are as they are. Neutral texts and what all rules have in common are those of `book`.
    /// `otherKeys`: those that the caller reads itself, for the error about an unknown key.
    package static func requested(
        _ object: JSONObject,
        by book: RuleBook,
        name: String,
        platforms: PlatformCatalog,
        blockChecks: BlockChecks,
        otherKeys: [String] = []
    ) throws(RequestedRuleError) -> Rule {
        let value = YAMLFile.reading(.object(object))
        let reader = RuleReader(
            number: 1,
            file: RulesFile(name: name, text: ""),
            context: RuleContext(platforms: platforms, checks: blockChecks),
            nudge: book.nudge,
            mentions: .raw
        )
        let rule = reader.requested(value, name: name, otherKeys)
        let mistakes = value.file.mistakes.map {
            RequestedRuleError.Mistake(pointer: $0.file, message: $0.message)
        }
        guard let rule, mistakes.isEmpty else { throw RequestedRuleError(mistakes: mistakes) }
        return rule
    }
}

extension RuleReader {
    /// A rule without conditions and signal.
    fileprivate func requested(_ value: YAMLValue, name: String, _ otherKeys: [String]) -> Rule? {
        // Seed 000's keys about the event would be about one that nobody else has.
        let payloadKeys = RulePayload.keys(context.platforms).filter { $0 != "event_data" }
        let keys = otherKeys + RuleTexts.keys + payloadKeys + ["mode", "urgency"] + RulePace.keys
        guard let rule = value.mapping(keys: keys, missing: RuleBook.missingBlock) else { return nil }
        let definition = RuleDefinition(
            name: name,
            place: nil,
            match: RuleMatch(),
            signal: nil,
            mode: rule["mode"].flatMap(mode) ?? .alert,
            urgency: rule["urgency"].flatMap(urgency) ?? .normal,
            texts: RuleTexts(reading: rule),
            payload: RulePayload(reading: rule, context, hasEvent: false),
            pace: RulePace(reading: rule, context.platforms),
            mentions: mentions
        )
        return Rule(definition, nudge: nudge, platforms: context.platforms)
    }
}

extension RuleBook {
    /// The rule of that name in this book; the first one that is meant where files have rules of the same name.
    package func rule(named name: String) -> Rule? { rules.first { $0.name == name && !$0.drops } }
}
