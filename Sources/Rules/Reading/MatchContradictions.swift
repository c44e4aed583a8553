import Nostr
import Notifications
import YAMLReading

/// Conditions of one rule that no event meets together, although each may hold by itself.
struct MatchContradictions {
    /// The conditions that were read.
    let match: RuleMatch
    /// Where they stand.
    let mapping: YAMLMapping

    /// Notes conditions that rule out every event the others leave.
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
        if hasNo("p") { mapping["tags"]?.mistake("p: false never holds: " + everybody) }
    }

    private func checkSignals() {
        guard let signals = match.signals, !signals.isEmpty else { return }
        if match.zap != nil, !signals.contains(.zap) {
            mapping["signal"]?.mistake("'zap' leaves only zaps, whose signal is zap")
        } else if let kinds = match.kinds, signals.allSatisfy({ kinds.isDisjoint(with: KnownKinds.kinds(of: $0)) }) {
            mapping["signal"]?.mistake("no event of these kinds is taken for that")
        }
    }

    private func checkRelations() {
        guard let relations = match.relations, !relations.isEmpty else { return }
        if match.zap != nil {
            mapping["relation"]?.mistake("'zap' leaves only zaps, which are no reply, quote or mention")
        } else if let signals = match.signals, !signals.isEmpty,
            !relations.contains(where: { signals.contains($0 == .reply ? .reply : .mention) })
        {
            mapping["relation"]?.mistake(
                "a reply has the signal reply, a quote or a mention has mention, others have none"
            )
        } else if relations == [.quote], hasNo("q") {
            mapping["relation"]?.mistake("a quote is what a q tag names (NIP-18), and 'tags' leaves none")
        } else if relations == [.reply], hasNo("e"), match.kinds.map({ $0.isSubset(of: [1, 1808]) }) ?? false {
            mapping["relation"]?.mistake(
                "what a note replies to is what an e tag names (NIP-10), and 'tags' leaves none"
            )
        }
    }

    private func hasNo(_ tag: String) -> Bool {
        match.values.contains { value in
            if case .tag(let condition) = value { condition.rulesOut(tag) } else { false }
        }
    }
}
