import JSON
import Push
import Storage

/// The errors in a notification that an API client requests.
package struct RequestedRuleError: Error, Sendable {
    package struct FieldError: Sendable, Hashable {
        /// A JSON pointer (RFC 6901) to the value.
        package let pointer: String
        package let message: String
    }

    /// At least one.
    package let mistakes: [FieldError]
}

extension Rule {
    /// Makes the rule of a notification request. `object` has the format of rules files, but its texts contain no
    /// templates. Neutral texts and shared values are those of `book`. `otherKeys` are keys that the caller reads
    /// itself, for the error about an unknown key.
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
            mentions: .raw
        )
        let rule = reader.requested(value, name: name, otherKeys)
        let mistakes = value.file.mistakes.map {
            RequestedRuleError.FieldError(pointer: $0.file, message: $0.message)
        }
        guard let rule, mistakes.isEmpty else { throw RequestedRuleError(mistakes: mistakes) }
        return Rule(rule, nudge: book.nudge, platforms: platforms)
    }
}

extension RuleReader {
    /// Reads a rule without conditions and signal.
    fileprivate func requested(_ value: YAMLValue, name: String, _ otherKeys: [String]) -> RuleDefinition? {
        // The keys about the event would describe an event that exists only in this router.
        let payloadKeys = RulePayload.keys(context.platforms).filter { $0 != "event_data" }
        let keys = otherKeys + RuleTexts.keys + payloadKeys + ["mode", "urgency"] + RulePace.keys
        guard let rule = value.mapping(keys: keys, missing: RuleBook.missingBlock) else { return nil }
        return RuleDefinition(
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
    }
}

extension RuleBook {
    /// Returns the rule of that name in this book, or the first one if files have rules with the same name.
    package func rule(named name: String) -> Rule? { rules.first { $0.name == name && !$0.drops } }
}
