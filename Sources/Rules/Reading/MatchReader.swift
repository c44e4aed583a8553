import Nostr
import Push
import Storage

/// Reads the conditions of a rule. Records invalid ones as errors and omits them.
struct MatchReader {
    static let keys = [
        "kinds", "author", "recipient", "p", "content", "json", "relation", "signal", "tags", "zap", "p_tags",
        "followed",
        "language", "platform", "app",
    ]
    /// The maximum number of satoshis that can exist.
    private static let satoshis = 0...2_100_000_000_000_000
    /// More tags than any event has.
    private static let tags = 0...65535
    private static let nameLimit = 64

    /// The file that contains the rule.
    let file: RulesFile
    let platforms: PlatformCatalog

    func match(_ value: YAMLValue?) -> RuleMatch {
        guard let mapping = value?.mapping(keys: Self.keys) else { return RuleMatch() }
        let kinds = mapping["kinds"].map { some($0) { $0.integer(in: 0...65535) } }.map { Set($0.map(UInt16.init)) }
        let relations = mapping["relation"].map { value in
            some(value) { $0.choice(Relation.allCases.map(\.rawValue)).flatMap(Relation.init) }
        }
        check(kinds, against: mapping, relations)
        let keys = KeyListReader(file: file)
        let content = mapping["content"].flatMap(ValueConditionReader.content)
        let conditions = RuleConditions(
            kinds: kinds,
            relations: relations,
            // This is the match stage's signal, so never one that a rule defines.
            signals: mapping["signal"].map { value in
                some(value) { $0.choice(Signal.wellKnown.map(\.rawValue)).map(Signal.init(rawValue:)) }
            },
            zap: mapping["zap"].flatMap { range($0, in: Self.satoshis) }.map {
                UInt64($0.lowerBound) * 1000...UInt64($0.upperBound) * 1000
            },
            pTags: mapping["p_tags"].flatMap { range($0, in: Self.tags) },
            isFollowed: mapping["followed"].flatMap { $0.bool() },
            languages: mapping["language"].map { some($0, language) },
            authors: mapping["author"].map(keys.keys),
            recipients: mapping["recipient"].map(keys.keys),
            mentioned: mapping["p"].map(keys.keys),
            platforms: mapping["platform"].map { some($0, platform) },
            apps: mapping["app"].map { some($0, name) },
            values: (content.map { [$0] } ?? []) + (mapping["tags"].map(ValueConditionReader.tags) ?? [])
                + (mapping["json"].map(ValueConditionReader.fields) ?? [])
        )
        MatchContradictions(match: conditions, mapping: mapping).check()
        return RuleMatch(conditions)
    }

    /// Reports conditions that no event of `kinds` meets.
    private func check(_ kinds: Set<UInt16>?, against mapping: YAMLMapping, _ relations: [Relation]?) {
        guard let kinds, !kinds.isEmpty else { return }
        let zap = Kind.zapReceipt.rawValue
        if !kinds.contains(zap) { mapping["zap"]?.mistake("only kind \(zap) is a zap") }
        if relations?.isEmpty == false, kinds.isSubset(of: EventSubject.kindsWithoutRelation) {
            mapping["relation"]?.mistake("no event of these kinds is a reply, a quote or a mention")
        }
    }

    /// Reads the name that plugins and registrations use, which may differ from the rule's key for the block.
    private func platform(_ value: YAMLValue) -> String? {
        guard let name = name(value) else { return nil }
        if let platform = platforms.platform(ofBlock: name), platform != name {
            value.mistake("expected the platform's name: '\(platform)' is its name in registrations")
            return nil
        }
        return name
    }

    private func name(_ value: YAMLValue) -> String? {
        guard let name = value.string() else { return nil }
        guard (1...Self.nameLimit).contains(name.utf8.count) else {
            value.mistake("expected a name of 1 to \(Self.nameLimit) bytes")
            return nil
        }
        return name
    }

    /// Reads one value or a list. An empty list is an error, because it would never match.
    private func some<Value>(_ value: YAMLValue, _ read: (YAMLValue) -> Value?) -> [Value] {
        let values = value.oneOrMore()
        if values.isEmpty { value.mistake("expected at least one") }
        return values.compactMap(read)
    }

    /// Reads `{ min: 2, max: 10 }`, or one of the two.
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
        // A longer tag would be cut, and the rule would match more than intended.
        guard let language = LanguageTag(text), language.description.utf8.count == text.utf8.count else {
            value.mistake("expected a language, as in de, pt-BR or zh-Hant")
            return nil
        }
        return language
    }
}

/// Finds conditions of one rule that contradict each other, although each can be true.
struct MatchContradictions {
    /// The conditions.
    let match: RuleConditions
    /// Their place in the file.
    let mapping: YAMLMapping

    /// Reports conditions that exclude every event that the others leave.
    func check() {
        checkNames()
        guard match.kinds?.isEmpty != true else { return }
        checkSignals()
        checkRelations()
    }

    /// Events reach the rules only if a `p` tag names the recipient.
    private func checkNames() {
        let everybody = "every event names its recipient in a p tag"
        if let most = match.pTags?.upperBound, most < 1 { mapping["p_tags"]?.mistake(everybody) }
        if hasNo("p") { mapping["tags"]?.mistake("'p: false' never holds: " + everybody) }
    }

    private func checkSignals() {
        guard let signals = match.signals, !signals.isEmpty else { return }
        if match.zap != nil, !signals.contains(.zap) {
            mapping["signal"]?.mistake("'zap' matches only zaps, whose signal is zap")
        } else if let kinds = match.kinds, signals.allSatisfy({ kinds.isDisjoint(with: EventSubject.kinds(of: $0)) }) {
            mapping["signal"]?.mistake("no event of these kinds has this signal")
        }
    }

    private func checkRelations() {
        guard let relations = match.relations, !relations.isEmpty else { return }
        if match.zap != nil {
            mapping["relation"]?.mistake("'zap' matches only zaps, which are never a reply, a quote or a mention")
        } else if let signals = match.signals, !signals.isEmpty,
            !relations.contains(where: { signals.contains($0 == .reply ? .reply : .mention) })
        {
            mapping["relation"]?.mistake(
                "a reply has the signal reply, a quote or a mention has mention, others have none"
            )
        } else if relations == [.quote], hasNo("q") {
            mapping["relation"]?.mistake("a quote needs a q tag (NIP-18), which 'tags' excludes")
        } else if relations == [.reply], hasNo("e"),
            match.kinds.map({ $0.isSubset(of: [Kind.textNote.rawValue, Kind.audioNote.rawValue]) }) ?? false
        {
            mapping["relation"]?.mistake(
                "a reply needs an e tag (NIP-10), which 'tags' excludes"
            )
        }
    }

    private func hasNo(_ tag: String) -> Bool {
        match.values.contains { value in
            if case .tag(let condition) = value { condition.rulesOut(tag) } else { false }
        }
    }
}

/// Reads conditions on content, tags and fields of content.
enum ValueConditionReader {
    /// The keys of a test that is neither a text nor a list of texts.
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

    /// Reads conditions by tag name. `true` requires such a tag, `false` requires that there is none.
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

    /// Reads conditions by path; `true` and `false` are values of the field.
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
                    "put the condition on the first value into '1', as in { 1: …, 2: … }"
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
        if mapping["1"] != nil { recipient.mistake("'1' already sets the tag's first value") }
        if patterns > 0 { value.mistake("a regular expression cannot be combined with 'recipient'") }
        return TagCondition(name, conditions, namesRecipient: true)
    }

    /// Reads a text, a list of texts, `{ matches: "…" }`, or `{ min: 2, max: 10 }`.
    private static func test(_ value: YAMLValue) -> ValueTest? {
        value.isMapping ? value.mapping(keys: tests).flatMap { test(value, $0) } : texts(value)
    }

    private static func test(_ value: YAMLValue, _ mapping: YAMLMapping) -> ValueTest? {
        if let text = mapping["matches"] {
            for key in ["min", "max"] { mapping[key]?.mistake("a number cannot be matched: expected only 'matches'") }
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

    /// Many YAML readers interpret `no` and `On` as flags.
    private static func refusesFlag(_ value: YAMLValue, of place: String = "tag") -> Bool {
        guard value.isPlainBool else { return false }
        value.mistake("expected true or false, or quotes around it if it is the \(place)'s value")
        return true
    }
}
