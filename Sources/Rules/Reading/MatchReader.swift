import Nostr
import Notifications
import Platforms
import YAMLReading

/// Reads the conditions of a rule. Notes what it cannot read as a mistake and leaves it out.
struct MatchReader {
    static let keys = [
        "kinds", "author", "recipient", "p", "content", "json", "relation", "signal", "tags", "zap", "p_tags",
        "followed",
        "language", "platform", "app",
    ]
    /// All satoshis that there will ever be.
    private static let satoshis = 0...2_100_000_000_000_000
    /// More tags than any event has.
    private static let tags = 0...65535
    private static let nameLimit = 64

    /// The file that the rule stands in.
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
        let match = RuleMatch(
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
        MatchContradictions(match: match, mapping: mapping).check()
        return match
    }

    /// Reports conditions that no event of `kinds` meets.
    private func check(_ kinds: Set<UInt16>?, against mapping: YAMLMapping, _ relations: [Relation]?) {
        guard let kinds, !kinds.isEmpty else { return }
        if !kinds.contains(KnownKinds.zap) { mapping["zap"]?.mistake("only kind \(KnownKinds.zap) is a zap") }
        if relations?.isEmpty == false, kinds.isSubset(of: KnownKinds.withoutRelation) {
            mapping["relation"]?.mistake("no event of these kinds is a reply, a quote or a mention")
        }
    }

    /// The name that plugins and registrations use, which may differ from the rule's key for the block.
    private func platform(_ value: YAMLValue) -> String? {
        guard let name = name(value) else { return nil }
        if let platform = platforms.platform(ofBlock: name), platform != name {
            value.mistake("expected the platform's name: '\(platform)' is what registrations call it")
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

    /// One value or a list. An empty list is a mistake: it would match nothing.
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
        // A longer tag would be cut, and the rule would match more than intended.
        guard let language = LanguageTag(text), language.description.utf8.count == text.utf8.count else {
            value.mistake("expected a language, as in de, pt-BR or zh-Hant")
            return nil
        }
        return language
    }
}

/// Finds conditions of one rule that no event meets together, although each may hold by itself.
struct MatchContradictions {
    /// The conditions.
    let match: RuleMatch
    /// Their place in the file.
    let mapping: YAMLMapping

    /// Reports conditions that exclude every event that the others leave.
    func check() {
        checkNames()
        guard match.kinds?.isEmpty != true else { return }
        checkSignals()
        checkRelations()
    }

    /// An event reaches the rules by a `p` tag that names the recipient.
    private func checkNames() {
        let everybody = "every event that gets here names its recipient in a p tag"
        if let most = match.pTags?.upperBound, most < 1 { mapping["p_tags"]?.mistake(everybody) }
        if hasNo("p") { mapping["tags"]?.mistake("'p: false' never holds: " + everybody) }
    }

    private func checkSignals() {
        guard let signals = match.signals, !signals.isEmpty else { return }
        if match.zap != nil, !signals.contains(.zap) {
            mapping["signal"]?.mistake("'zap' matches only zaps, whose signal is zap")
        } else if let kinds = match.kinds, signals.allSatisfy({ kinds.isDisjoint(with: KnownKinds.kinds(of: $0)) }) {
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
        } else if relations == [.reply], hasNo("e"), match.kinds.map({ $0.isSubset(of: [1, 1808]) }) ?? false {
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

/// The kinds that the match stage knows.
package enum KnownKinds {
    /// Those with a signal of their own.
    package static let withSignal = withRelation.union(withoutRelation)

    /// Those that can be a reply, a quote or a mention, as all unknown kinds can.
    private static let withRelation: Set<UInt16> = [1, 1111, 1808]

    /// Messages, contact lists, reactions, reposts and zaps.
    package static let withoutRelation: Set<UInt16> = [3, 4, 6, 7, 14, 16, 1059, 1809, 9735, 21059]

    static let zap: UInt16 = 9735

    /// The kinds to which the match stage may give `signal`.
    static func kinds(of signal: Signal) -> Set<UInt16> {
        switch signal {
        case .dm: [4, 14, 1059, 21059]
        case .mention, .reply: withRelation
        case .reaction: [7]
        case .repost: [6, 16, 1809]
        case .follow: [3]
        case .zap: [zap]
        default: []
        }
    }
}
