import Cipher

/// What an operator sends Web Push with (RFC 8292): a key on P-256.
public struct VAPIDCredentials: Sendable, Hashable {
    /// PKCS#8.
    public var keyPEM: String
    /// What browsers subscribe with: the uncompressed point in base64url.
    public var applicationServerKey: String

    /// Makes a new key.
    public init() {
        self.init(P256PrivateKey())
    }

    /// Takes a key that exists. Throws `LabError` where it is not a P-256 key in PEM.
    public init(keyPEM: String) throws {
        guard let key = try? P256PrivateKey(pem: keyPEM) else {
            throw LabError.invalid("The VAPID key is not a private key on P-256 in PEM.")
        }
        self.init(key)
    }

    private init(_ key: P256PrivateKey) {
        keyPEM = key.pemRepresentation
        applicationServerKey = Base64URL.encode(key.publicKey.x963Representation)
    }
}

extension VAPIDCredentials: CustomStringConvertible {
    /// Without the private key.
    public var description: String { "VAPIDCredentials(applicationServerKey: \(applicationServerKey))" }
}
