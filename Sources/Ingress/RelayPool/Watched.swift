import Nostr

/// A key that is watched at one relay.
package struct Watched: Sendable, Hashable {
    /// What of a key is watched.
    package struct Interest: OptionSet, Sendable, Hashable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        /// Events that name the key in a `p` tag.
        package static let addressed = Interest(rawValue: 1)
        /// The key's own relay lists, device lists and registrations, and its contact lists if those are asked for.
        package static let authored = Interest(rawValue: 2)
    }

    package var key: PublicKey
    package var interest: Interest
    /// Older events at this relay do not count, except gift wraps, which are dated back. In seconds since 1970.
    package var since: Int64
    /// Whether what the relay had stored for the key was read before. Until it was, stored gift wraps count as old:
    /// their date says nothing (NIP-59).
    package var isEstablished: Bool

    package init(key: PublicKey, interest: Interest, since: Int64, isEstablished: Bool) {
        self.key = key
        self.interest = interest
        self.since = since
        self.isEstablished = isEstablished
    }
}

/// A change to what is watched at one relay.
package enum WatchChange: Sendable, Hashable {
    /// Watches a key, or watches it differently from now on.
    case put(Watched)
    case remove(PublicKey)
}

/// The kinds that relays are asked for, as far as rules and filters decide that.
package struct RequestedKinds: Sendable, Hashable {
    /// Kinds that are asked for by the keys they name; nil: every kind.
    package var addressedKinds: Set<Kind>?
    /// Further replaceable kinds that are asked for by author, such as contact lists (kind 3).
    package var furtherLists: Set<Kind>

    package init(addressedKinds: Set<Kind>? = nil, furtherLists: Set<Kind> = []) {
        self.addressedKinds = addressedKinds
        self.furtherLists = furtherLists
    }
}
