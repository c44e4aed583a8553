import Nostr

extension Registry {
    /// The router's own key, which registrations name and are encrypted to.
    package var ourKey: PublicKey { identity.publicKey }
}
