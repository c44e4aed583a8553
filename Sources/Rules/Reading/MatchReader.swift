import Nostr
import Notifications
import Patterns
import YAMLReading

/// Reads the conditions of a rule. What it cannot read it notes as a mistake and leaves out.
struct MatchReader {
    static let keys = ["kinds", "content", "relation", "signal", "tags", "zap", "p_tags", "followed", "language"]
    /// All satoshis that there will ever be.
    private static let satoshis = 0...2_100_000_000_000_000
    /// More tags than any event has.
    private static let tags = 0...65535
    private static let nameLimit = 64

    func match(_ value: YAMLValue?) -> RuleMatch {
        guard let mapping = value?.mapping(keys: Self.keys) else { return RuleMatch() }
        let kinds = mapping["kinds"].map { some($0) { $0.integer(in: 0...65535) } }.map { Set($0.map(UInt16.init)) }
        let relations = mapping["relation"].map { value in
            some(value) { $0.choice(Relation.allCases.map(\.rawValue)).flatMap(Relation.init) }
        }
        check(kinds, against: mapping, relations)
        let content = mapping["content"].flatMap(test).map { ValueCondition(source: .content, test: $0) }
        let match = RuleMatch(
            kinds: kinds,
            relations: relations,
            // What the match stage says, and so never a signal that a rule names.
            signals: mapping["signal"].map { value in
                some(value) { $0.choice(Signal.wellKnown.map(\.rawValue)).map(Signal.init(rawValue:)) }
            },
            zap: mapping["zap"].flatMap { range($0, in: Self.satoshis) }.map {
                UInt64($0.lowerBound) * 1000...UInt64($0.upperBound) * 1000
            },
            pTags: mapping["p_tags"].flatMap { range($0, in: Self.tags) },
            isFollowed: mapping["followed"].flatMap { $0.bool() },
            languages: mapping["language"].map { some($0, language) },
            values: (content.map { [$0] } ?? []) + (mapping["tags"].map(tags) ?? [])
        )
        MatchContradictions(match: match, mapping: mapping).check()
        return match
    }

    /// Notes conditions that no event of `kinds` ever meets.
    private func check(_ kinds: Set<UInt16>?, against mapping: YAMLMapping, _ relations: [Relation]?) {
        guard let kinds, !kinds.isEmpty else { return }
        if !kinds.contains(KnownKinds.zap) { mapping["zap"]?.mistake("only kind \(KnownKinds.zap) is a zap") }
        if relations?.isEmpty == false, kinds.isSubset(of: KnownKinds.withoutRelation) {
            mapping["relation"]?.mistake("no event of these kinds is a reply, a quote or a mention")
        }
    }

    /// By their names; `true` asks for such a tag, `false` for there being none.
    private func tags(_ value: YAMLValue) -> [ValueCondition] {
        guard let tags = value.mapping() else { return [] }
        if tags.members.isEmpty { value.mistake("expected at least one tag, as in { t: nostr }") }
        return tags.members.compactMap { name, value in
            guard (1...Self.nameLimit).contains(name.utf8.count) else {
                value.mistake("expected a tag's name of 1 to \(Self.nameLimit) bytes")
                return nil
            }
            if let isPresent = value.plainBool {
                return ValueCondition(source: .tag(name), test: isPresent ? .present : .absent)
            }
            if value.isPlainBool {
                // Half of the world's YAML takes it for a flag.
                value.mistake("expected true or false, or quotes around it if it is the tag's value")
                return nil
            }
            return test(value).map { ValueCondition(source: .tag(name), test: $0) }
        }
    }

    /// A text, a list of them, or `{ matches: "…" }`.
    private func test(_ value: YAMLValue) -> ValueCondition.Test? {
        guard value.isMapping else { return .equals(some(value) { $0.string() }) }
        guard let pattern = value.mapping(keys: ["matches"])?.require("matches", "a regular expression") else {
            return nil
        }
        guard let text = pattern.string() else { return nil }
        do {
            return .matches(PatternCondition(try Pattern(text)))
        } catch {
            pattern.mistake("not a regular expression: \(error)")
            return nil
        }
    }

    /// One value or a list of them, none of which would match nothing.
    private func some<Value>(_ value: YAMLValue, _ read: (YAMLValue) -> Value?) -> [Value] {
        let values = value.oneOrMore()
        if values.isEmpty { value.mistake("expected at least one") }
        return values.compactMap(read)
    }

    /// `{ min: 2, max: 10 }`, or one of them.
    private func range(_ value: YAMLValue, in bounds: ClosedRange<Int>) -> ClosedRange<Int>? {
        guard let mapping = value.mapping(keys: ["min", "max"]) else { return nil }
        guard !mapping.members.isEmpty else {
            value.mistake("expected min, max or both")
            return nil
        }
        let least = mapping["min"].map { $0.integer(in: bounds) } ?? bounds.lowerBound
        let most = mapping["max"].map { $0.integer(in: bounds) } ?? bounds.upperBound
        guard let least, let most else { return nil }
        guard least <= most else {
            value.mistake("min is more than max")
            return nil
        }
        return least...most
    }

    private func language(_ value: YAMLValue) -> LanguageTag? {
        guard let text = value.string() else { return nil }
        // Of a longer tag the rest would be left out, and the rule be for more than was meant.
        guard let language = LanguageTag(text), language.description.utf8.count == text.utf8.count else {
            value.mistake("expected a language, as in de, pt-BR or zh-Hant")
            return nil
        }
        return language
    }
}
