import JSON
import Notifications
import Platforms
import YAMLReading

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
    package static func requested(
        _ object: JSONObject,
        by book: RuleBook,
        name: String,
        platforms: PlatformCatalog,
        blockChecks: BlockChecks
    ) throws(RequestedRuleError) -> Rule {
        // Seed 000's keys about the event would be about one that nobody else has.
        guard object["event_data"] == nil else {
            throw RequestedRuleError(
                mistakes: [
                    RequestedRuleError.Mistake(pointer: "/event_data", message: "there is no event to say more of")
                ]
            )
        }
        let member = JSONObject.Member(name: "event_data", value: .bool(false))
        let value = YAMLFile.reading(.object(JSONObject(members: object.members + [member])))
        let reader = RuleReader(
            number: 1,
            file: RulesFile(name: name, text: ""),
            context: RuleContext(platforms: platforms, checks: blockChecks),
            nudge: book.nudge,
            mentions: .raw
        )
        let rule = reader.requested(value, name: name)
        let mistakes = value.file.mistakes.map {
            RequestedRuleError.Mistake(pointer: $0.file, message: $0.message)
        }
        guard let rule, mistakes.isEmpty else { throw RequestedRuleError(mistakes: mistakes) }
        return rule
    }

    /// The names of what ``requested(_:by:name:platforms:blockChecks:)`` takes.
    package static func requestedKeys(_ platforms: PlatformCatalog) -> [String] {
        RuleReader.requestedKeys(platforms).filter { $0 != "event_data" }
    }
}

extension RuleReader {
    static func requestedKeys(_ platforms: PlatformCatalog) -> [String] {
        ["mode", "urgency"] + RuleTexts.keys + RulePayload.keys(platforms) + RulePace.keys
    }

    /// A rule without conditions and signal.
    fileprivate func requested(_ value: YAMLValue, name: String) -> Rule? {
        let keys = Self.requestedKeys(context.platforms)
        guard let rule = value.mapping(keys: keys, missing: RuleBook.missingBlock) else { return nil }
        let definition = RuleDefinition(
            name: name,
            place: nil,
            match: RuleMatch(),
            signal: nil,
            mode: rule["mode"].flatMap(mode) ?? .alert,
            urgency: rule["urgency"].flatMap(urgency) ?? .normal,
            texts: RuleTexts(reading: rule),
            payload: RulePayload(reading: rule, context),
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
