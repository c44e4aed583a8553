import Patterns
import YAMLReading

/// Reads conditions on content, tags and fields of content.
enum ValueConditionReader {
    /// The keys of a test that is not a text or a list of texts.
    static let tests = ["matches", "min", "max"]
    /// The positions of values after a tag's name.
    static let places = 1...9
    /// The keys of a condition on a tag.
    static let tagKeys = tests + ["any", "recipient"] + places.map(String.init)
    private static let nameLimit = 64

    static func content(_ value: YAMLValue) -> ValueCondition? {
        guard value.isMapping else { return .content(texts(value)) }
        return value.mapping(keys: ["matches"])?.require("matches", "a regular expression").flatMap(pattern)
            .map(ValueCondition.content)
    }

    /// Conditions by tag name; `true` requires such a tag, `false` requires that there is none.
    static func tags(_ value: YAMLValue) -> [ValueCondition] {
        guard let tags = value.mapping() else { return [] }
        if tags.members.isEmpty { value.mistake("expected at least one tag, as in { t: nostr }") }
        return tags.members.compactMap { name, value in
            guard (1...nameLimit).contains(name.utf8.count) else {
                value.mistake("expected a tag's name of 1 to \(nameLimit) bytes")
                return nil
            }
            return tag(name, value).map(ValueCondition.tag)
        }
    }

    /// Conditions by path; `true` and `false` are values of the field.
    static func fields(_ value: YAMLValue) -> [ValueCondition] {
        guard let fields = value.mapping() else { return [] }
        if fields.members.isEmpty { value.mistake("expected at least one field, as in { order.total: { min: 100 } }") }
        return fields.members.compactMap { name, value in
            guard let path = JSONPath(name) else {
                value.mistake(JSONPath.expectation)
                return nil
            }
            if let flag = value.plainBool { return .json(JSONCondition(path: path, test: .flag(flag))) }
            if refusesFlag(value, of: "field") { return nil }
            return test(value).map { .json(JSONCondition(path: path, test: .value($0))) }
        }
    }

    private static func tag(_ name: String, _ value: YAMLValue) -> TagCondition? {
        if let isPresent = value.plainBool { return TagCondition(name, isPresent: isPresent) }
        if refusesFlag(value) { return nil }
        guard value.isMapping else { return TagCondition(name, [(.at(1), texts(value))]) }
        guard let mapping = value.mapping(keys: tagKeys) else { return nil }
        if mapping.members.isEmpty || mapping.members.contains(where: { tests.contains($0.key) }) {
            if let other = mapping.members.first(where: { !tests.contains($0.key) }) {
                other.value.mistake(
                    "what stands first behind the name goes under '1' beside this, as in { 1: …, 2: … }"
                )
            }
            return test(value, mapping).map { TagCondition(name, [(.at(1), $0)]) }
        }
        var conditions: [(place: TagCondition.Place, test: ValueTest)] = []
        for (key, value) in mapping.members where key != "recipient" {
            if refusesFlag(value) { continue }
            let place = Int(key).map(TagCondition.Place.at) ?? .any
            if let test = test(value) { conditions.append((place, test)) }
        }
        let patterns = conditions.count { $0.test.pattern != nil }
        if patterns > 1 { value.mistake("expected at most one regular expression for a tag") }
        guard let recipient = mapping["recipient"] else { return TagCondition(name, conditions) }
        if recipient.bool() == false {
            recipient.mistake("expected true: the tag's first value is the recipient's key")
        }
        if mapping["1"] != nil { recipient.mistake("'1' gives the tag's first value already") }
        if patterns > 0 { value.mistake("a regular expression does not go together with 'recipient'") }
        return TagCondition(name, conditions, namesRecipient: true)
    }

    /// A text, a list of them, `{ matches: "…" }`, or `{ min: 2, max: 10 }`.
    private static func test(_ value: YAMLValue) -> ValueTest? {
        value.isMapping ? value.mapping(keys: tests).flatMap { test(value, $0) } : texts(value)
    }

    private static func test(_ value: YAMLValue, _ mapping: YAMLMapping) -> ValueTest? {
        if let text = mapping["matches"] {
            for key in ["min", "max"] { mapping[key]?.mistake("a number is not matched: expected 'matches' alone") }
            return pattern(text)
        }
        guard mapping["min"] != nil || mapping["max"] != nil else {
            value.mistake("expected 'matches', 'min' or 'max'")
            return nil
        }
        let least = mapping["min"].map(number) ?? -.greatestFiniteMagnitude
        let most = mapping["max"].map(number) ?? .greatestFiniteMagnitude
        guard let least, let most else { return nil }
        guard least <= most else {
            value.mistake("min is more than max")
            return nil
        }
        return .within(least...most)
    }

    private static func number(_ value: YAMLValue) -> Double? {
        if let number = value.number { return number }
        value.mistake("expected a number")
        return nil
    }

    private static func texts(_ value: YAMLValue) -> ValueTest {
        let values = value.oneOrMore()
        if values.isEmpty { value.mistake("expected at least one") }
        return .equals(values.compactMap { $0.string() })
    }

    private static func pattern(_ value: YAMLValue) -> ValueTest? {
        guard let text = value.string() else { return nil }
        do {
            return .matches(PatternCondition(try Pattern(text)))
        } catch {
            value.mistake("not a regular expression: \(error)")
            return nil
        }
    }

    /// Many YAML readers take `no` and `On` for a flag.
    private static func refusesFlag(_ value: YAMLValue, of place: String = "tag") -> Bool {
        guard value.isPlainBool else { return false }
        value.mistake("expected true or false, or quotes around it if it is the \(place)'s value")
        return true
    }
}
