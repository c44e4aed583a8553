import Cipher
import Schnorr

/// The secrets that open sessions (NIP-46), as keyed digests: what the process keeps and the registry stores tells nothing of
/// them.
struct ConnectSecrets: Sendable, Concealed {
    /// Draws digests under a key of the router's identity, so that they mean nothing elsewhere.
    struct Digester: Sendable, Concealed {
        private let key: [UInt8]

        init(identity: SecretKey) throws {
            let root = HKDFSHA256.extract(salt: Array("carillon sessions".utf8), inputKeyMaterial: identity.reveal())
            key = try HKDFSHA256.expand(pseudoRandomKey: root, info: Array("secret 1".utf8), length: 32)
        }

        func digest(of secret: String) -> [UInt8] {
            HMACSHA256.authenticationCode(for: Array(secret.utf8), key: key)
        }
    }

    private let digests: [[UInt8]]
    private let digester: Digester

    init(_ secrets: [String], digester: Digester) {
        digests = secrets.map(digester.digest)
        self.digester = digester
    }

    var isEmpty: Bool { digests.isEmpty }

    /// The digest of `candidate` if it is one of the secrets. How long that takes says nothing of which, or of how near it is.
    func digest(matching candidate: String) -> [UInt8]? {
        let digest = digester.digest(of: candidate)
        let isKnown = digests.reduce(false) { ConstantTime.areEqual($1, digest) || $0 }
        return isKnown ? digest : nil
    }
}
