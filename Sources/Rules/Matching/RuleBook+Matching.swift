import Nostr
import Notifications

extension RuleBook {
    /// The decision of the first rule that matches.
    package func decide(_ question: RuleQuestion) -> Decision {
        guard let rule = rules.first(where: { $0.match.holds(for: question) }) else { return .unmatched }
        if rule.drops { return .drop(rule) }
        guard let signal = rule.signal ?? question.signal else { return .unmatched }
        return .notify(rule, signal)
    }

    /// The decision where the rules ask for nothing but this.
    package func decide(kind: Kind, content: String, relation: Relation?, signal: Signal?) -> Decision {
        let none = Bytes32(words: (0, 0, 0, 0))
        let event = Event(
            id: EventID(none),
            pubkey: PublicKey(none),
            createdAt: 0,
            kind: kind,
            tags: [],
            content: content,
            signature: Signature(first: none, second: none)
        )
        return decide(RuleQuestion(event: event, relation: relation, signal: signal))
    }

    /// The kinds for which any rule can notify at all; nil when some rule names no kinds, so that each must be looked at.
    /// The gate drops every other kind unseen.
    package var notifiableKinds: Set<UInt16>? {
        var kinds: Set<UInt16> = []
        for rule in rules where !rule.drops {
            guard let named = rule.match.kinds else { return nil }
            kinds.formUnion(named)
        }
        return kinds
    }

    /// The signals that the rules name themselves, besides the well-known ones.
    package var namedSignals: Set<Signal> {
        Set(rules.compactMap(\.signal)).subtracting(Signal.wellKnown)
    }

    /// The languages that conditions of the rules name and that texts are written in, each once.
    package var languages: [LanguageTag] {
        textLanguages.union(rules.flatMap { $0.match.languages ?? [] }).sorted { $0.description < $1.description }
    }

    /// Whether it matters in which language a device is; else it need not be sought out.
    package var asksForLanguage: Bool {
        !languages.isEmpty
    }

    /// Whether it matters whom a recipient follows; else their contact lists need not be known.
    package var asksForFollows: Bool {
        rules.contains { $0.match.isFollowed != nil }
    }
}
