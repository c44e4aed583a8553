import Nostr

/// What relays are asked for, as far as rules and filters decide that.
package struct RelayWishes: Sendable, Hashable {
    /// Kinds that are asked for by the keys they name; nil: every kind.
    package var addressedKinds: Set<Kind>?
    /// Replaceable kinds that are asked for of those whose lists of relays and devices are, such as contact lists (kind 3).
    package var furtherLists: Set<Kind>

    package init(addressedKinds: Set<Kind>? = nil, furtherLists: Set<Kind> = []) {
        self.addressedKinds = addressedKinds
        self.furtherLists = furtherLists
    }
}
