import Nostr

/// What a transaction did, for those who keep up with it in memory.
struct RegistryChanges {
    var index: [IndexChange] = []
    /// Of whom something changed that an account watch looks at.
    var keys: Set<PublicKey> = []

    var isEmpty: Bool { index.isEmpty && keys.isEmpty }
}
