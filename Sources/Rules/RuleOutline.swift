import Nostr
import Notifications

/// What rules are about, in short.
package struct RuleOutline: Hashable, Sendable {
    /// How many there are.
    package var count = 0
    /// How many of them drop what they match.
    package var dropCount = 0
    /// The kinds that they name, without those that are only dropped.
    package var kinds: Set<UInt16> = []
    /// Some rule that drops nothing names no kinds.
    package var isForAllKinds = false
    /// The signals that they name.
    package var signals: Set<Signal> = []
    /// Some rule leaves the signal to what Carillon takes an event for.
    package var takesSignalsOfEvents = false
}

extension RuleBook {
    /// The outline of the rules that stand in `file`, of an app's own ones, too.
    package func outline(of file: String) -> RuleOutline {
        let books = [self] + ofApps.values
        let rules = books.lazy.map { $0.rules.filter { $0.place?.file == file } }.first { !$0.isEmpty } ?? []
        var outline = RuleOutline()
        for rule in rules {
            outline.count += 1
            guard !rule.drops else {
                outline.dropCount += 1
                continue
            }
            if let kinds = rule.match.kinds { outline.kinds.formUnion(kinds) } else { outline.isForAllKinds = true }
            if let signal = rule.signal {
                outline.signals.insert(signal)
            } else {
                outline.takesSignalsOfEvents = true
            }
        }
        return outline
    }
}

extension Rule {
    /// Whether its condition on kinds holds for `kind`.
    package func isFor(_ kind: Kind) -> Bool {
        match.kinds?.contains(kind.rawValue) ?? true
    }
}
