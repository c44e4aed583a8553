/// Which events of a kind relays keep (NIP-01).
package enum Retention: Hashable, Sendable {
    /// All.
    case regular
    /// The newest of each author.
    case replaceable
    /// None: they are passed on and forgotten.
    case ephemeral
    /// The newest of each author and value of `d`.
    case addressable
}

extension Kind {
    /// Kinds that NIP-01 puts in no range count as regular.
    package var retention: Retention {
        switch rawValue {
        case 0, 3, 10_000...19_999: .replaceable
        case 20_000...29_999: .ephemeral
        case 30_000...39_999: .addressable
        default: .regular
        }
    }
}

extension Event {
    /// Whether this version of a replaceable or addressable event takes the place of `other` (NIP-01): the newer one
    /// does, and of two from the same second that with the lower id.
    package func supersedes(_ other: Event) -> Bool {
        createdAt == other.createdAt ? id < other.id : createdAt > other.createdAt
    }
}
