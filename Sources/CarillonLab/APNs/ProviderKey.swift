import Cipher

/// A key that providers may sign their tokens with.
struct ProviderKey: Sendable {
    var keyID: String
    var teamID: String
    var publicKey: P256PublicKey
    /// Bundle ids it may send for.
    var topics: Set<String>
    /// Where it may send.
    var environments: Set<APNsEnvironment>
}
