import Nostr
import Notifications

extension RuleBook {
    /// The decision of the first rule that matches.
    package func decide(_ question: RuleQuestion) -> Decision {
        if let book = ofApps[question.app] { return book.decide(question) }
        for rule in index[question.event.kind.rawValue] where rule.match.holds(for: question) {
            if rule.drops {
                // Whoever has no list yet would hear of nothing.
                if rule.match.isFollowed == false, question.isAuthorFollowed == nil { continue }
                return .drop(rule)
            }
            guard let signal = rule.signal ?? question.signal else { return .unmatched }
            return .notify(rule, signal)
        }
        return .unmatched
    }

    /// The kinds for which any rule can notify at all; nil when some rule names no kinds, so that each must be looked at.
    /// The gate drops every other kind unseen.
    package var notifiableKinds: Set<UInt16>? {
        var kinds: Set<UInt16> = []
        for rule in rules where !rule.drops {
            guard let possible = rule.match.kinds ?? rule.match.impliedKinds(forSignal: rule.signal) else { return nil }
            kinds.formUnion(possible)
        }
        for book in ofApps.values {
            guard let further = book.notifiableKinds else { return nil }
            kinds.formUnion(further)
        }
        return kinds
    }

    /// The signals that the rules name themselves, besides the well-known ones.
    package var namedSignals: Set<Signal> {
        ofApps.values.reduce(into: Set(rules.compactMap(\.signal)).subtracting(Signal.wellKnown)) {
            $0.formUnion($1.namedSignals)
        }
    }

    /// Whether it matters in which language a device is; else it need not be sought out.
    package var asksForLanguage: Bool {
        !languages.isEmpty
    }

    /// How many events were too dear for a pattern, which then counted as not matched, by the names of such rules. It is worth
    /// a line in the log: somebody may send what is made for that, or a pattern wants mending.
    package var exceededPatterns: [String: UInt64] {
        let counts: [String: UInt64] = rules.reduce(into: [:]) { counts, rule in
            let count = rule.match.values.reduce(0) { $0 + ($1.pattern?.exceededCount ?? 0) }
            if count > 0 { counts[rule.name, default: 0] += count }
        }
        return ofApps.values.reduce(into: counts) { $0.merge($1.exceededPatterns, uniquingKeysWith: +) }
    }
}
