package import Cipher
package import Schnorr

/// A secret key, and who its owner is on Nostr.
package struct KeyPair: Sendable, Concealed {
    package let secret: SecretKey
    package let publicKey: PublicKey

    package init(secret: SecretKey) throws {
        guard let publicKey = PublicKey(bytes: secret.publicKeyBytes) else {
            throw CipherError.libraryFailure(operation: "deriving a public key")
        }
        self.secret = secret
        self.publicKey = publicKey
    }

    /// Makes a fresh pair.
    package init(random: RandomBytes) throws {
        try self.init(secret: SecretKey(random: random))
    }

    /// Signs the id of an event (NIP-01); `random` yields the 32 bytes that BIP-340 mixes into the nonce.
    package func sign(_ id: EventID, random: RandomBytes = SecureRandom.bytes) throws -> Signature {
        let bytes = try self.secret.sign(id.array, auxiliaryRandomness: random(32))
        guard let signature = Signature(bytes: bytes) else {
            throw CipherError.libraryFailure(operation: "signing")
        }
        return signature
    }
}
