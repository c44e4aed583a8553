import Nostr
import Notifications

/// Which events a rule is for: every condition that is given must hold.
struct RuleMatch: Sendable, Hashable {
    /// Any of these; nil: every kind.
    var kinds: Set<UInt16>?
    /// Exactly one of these contents; nil: any.
    var content: Set<String>?
    var relations: Set<Relation>?
    var signals: Set<Signal>?

    func holds(kind: Kind, content eventContent: String, relation: Relation?, signal: Signal?) -> Bool {
        if let kinds, !kinds.contains(kind.rawValue) { return false }
        if let content, !content.contains(eventContent) { return false }
        if let relations {
            guard let relation, relations.contains(relation) else { return false }
        }
        if let signals {
            guard let signal, signals.contains(signal) else { return false }
        }
        return true
    }
}
