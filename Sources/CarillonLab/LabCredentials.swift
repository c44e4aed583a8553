import Cipher

/// An operator's credentials from Apple: a key, its id, the team and the app's bundle id.
public struct LabCredentials: Sendable, Hashable {
    /// PKCS#8, the content of an `AuthKey_….p8`.
    public var keyPEM: String
    /// The key that verifies provider tokens, a block `PUBLIC KEY`. It does not follow changes of `keyPEM`.
    public var publicKeyPEM: String
    /// 10 characters.
    public var keyID: String
    /// 10 characters.
    public var teamID: String
    /// The app's bundle id.
    public var topic: String
    /// The key's environments. In others it gets 403 `BadEnvironmentKeyIdInToken`.
    public var environments = Set(APNsEnvironment.allCases)

    /// Makes a new key.
    public init(keyID: String = "LABKEY0001", teamID: String = "LABTEAM001", topic: String = "com.example.app") {
        let key = P256PrivateKey()
        keyPEM = key.pemRepresentation
        publicKeyPEM = key.publicKey.pemRepresentation
        self.keyID = keyID
        self.teamID = teamID
        self.topic = topic
    }

    /// Takes an existing key. Throws `LabError` if it is not a P-256 key in PEM.
    public init(keyPEM: String, keyID: String, teamID: String, topic: String) throws {
        guard let key = try? P256PrivateKey(pem: keyPEM) else {
            throw LabError.invalid("The APNs key is not a private key on P-256 in PEM (PKCS#8).")
        }
        self.keyPEM = key.pemRepresentation
        publicKeyPEM = key.publicKey.pemRepresentation
        self.keyID = keyID
        self.teamID = teamID
        self.topic = topic
    }

    func providerKey(topics: Set<String>) throws -> ProviderKey {
        guard let publicKey = try? P256PublicKey(pem: publicKeyPEM) else {
            throw LabError.invalid("The public APNs key of \(keyID) is not a key on P-256 in PEM.")
        }
        return ProviderKey(
            keyID: keyID,
            teamID: teamID,
            publicKey: publicKey,
            topics: topics.union([topic]),
            environments: environments
        )
    }
}

extension LabCredentials: CustomStringConvertible {
    /// Without the key.
    public var description: String { "LabCredentials(keyID: \(keyID), teamID: \(teamID), topic: \(topic))" }
}
