import CSecp256k1
import Cipher

/// A secret key on secp256k1: signs (BIP-340) and derives shared secrets.
///
/// Its bytes are in one place, which is wiped on deinit. Unchecked Sendable: that place is not changed after init.
package final class SecretKey: @unchecked Sendable, Concealed {
    /// The length of a secret key in bytes.
    package static let byteCount = 32

    private let keypair: UnsafeMutablePointer<secp256k1_keypair>

    /// The x-only public key, 32 bytes (BIP-340).
    package let publicKeyBytes: [UInt8]

    /// Reads a secret key, most significant byte first.
    ///
    /// Throws unless it has 32 bytes and is at least 1 and below the order of the curve.
    package init(bytes: [UInt8]) throws {
        guard bytes.count == Self.byteCount else {
            throw CipherError.wrongLength(of: "secret key", expected: "32", actual: bytes.count)
        }
        var keypair = secp256k1_keypair()
        defer { wipe(&keypair) }
        guard secp256k1_keypair_create(context, &keypair, bytes) == 1 else { throw CipherError.invalidSecretKey }
        var publicKey = secp256k1_xonly_pubkey()
        var publicKeyBytes = [UInt8](repeating: 0, count: 32)
        guard
            secp256k1_keypair_xonly_pub(context, &publicKey, nil, &keypair) == 1,
            secp256k1_xonly_pubkey_serialize(context, &publicKeyBytes, &publicKey) == 1
        else { throw CipherError.libraryFailure(operation: "deriving a public key") }
        self.keypair = .allocate(capacity: 1)
        self.keypair.initialize(to: keypair)
        self.publicKeyBytes = publicKeyBytes
    }

    /// Makes a new key from the bytes of `random`.
    ///
    /// Throws for the one draw in 2^128 that is not a valid key.
    package convenience init(random: RandomBytes) throws {
        try self.init(bytes: random(Self.byteCount))
    }

    deinit {
        wipe(&self.keypair.pointee)
        self.keypair.deallocate()
    }

    /// Returns the secret itself, 32 bytes: for a key file, never for a log.
    package func reveal() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Self.byteCount)
        let status = secp256k1_keypair_sec(context, &bytes, self.keypair)
        precondition(status == 1, "libsecp256k1 yields the secret of any keypair it made")
        return bytes
    }

    /// Signs a message of any length, and returns 64 bytes (BIP-340).
    ///
    /// `auxiliaryRandomness` must be 32 new random bytes for each signature. Throws for another length, or if the
    /// library fails.
    package func sign(_ message: [UInt8], auxiliaryRandomness: [UInt8]) throws -> [UInt8] {
        guard auxiliaryRandomness.count == 32 else {
            throw CipherError.wrongLength(of: "auxiliary randomness", expected: "32", actual: auxiliaryRandomness.count)
        }
        var signature = [UInt8](repeating: 0, count: Schnorr.signatureByteCount)
        var randomness = auxiliaryRandomness
        let status = randomness.withUnsafeMutableBytes { randomness in
            // The magic is SECP256K1_SCHNORRSIG_EXTRAPARAMS_MAGIC, a macro that Swift does not import.
            var parameters = secp256k1_schnorrsig_extraparams(
                magic: (0xda, 0x6f, 0xb3, 0x8c),
                noncefp: nil,
                ndata: randomness.baseAddress
            )
            return secp256k1_schnorrsig_sign_custom(
                context,
                &signature,
                message,
                message.count,
                self.keypair,
                &parameters
            )
        }
        guard status == 1 else { throw CipherError.libraryFailure(operation: "signing") }
        return signature
    }

    /// Returns the x coordinate, 32 bytes and not hashed, of this key times the point with the x-only public key
    /// `publicKey` and an even y (NIP-44, NIP-04).
    ///
    /// Throws unless `publicKey` is 32 bytes and the x of a point on the curve.
    package func sharedX(withXOnly publicKey: [UInt8]) throws -> [UInt8] {
        guard publicKey.count == Schnorr.publicKeyByteCount else {
            throw CipherError.wrongLength(of: "public key", expected: "32", actual: publicKey.count)
        }
        var point = secp256k1_pubkey()
        guard secp256k1_ec_pubkey_parse(context, &point, [2] + publicKey, 33) == 1 else {
            throw CipherError.notOnCurve
        }
        var shared = [UInt8](repeating: 0, count: 32)
        guard secp256k1_ecdh(context, &shared, &point, self.reveal(), copyX, nil) == 1 else {
            throw CipherError.libraryFailure(operation: "ECDH")
        }
        return shared
    }
}

/// Replaces libsecp256k1's hash of the shared point. A function, because a closure would inherit the isolation of its
/// context.
private func copyX(
    output: UnsafeMutablePointer<UInt8>?,
    x: UnsafePointer<UInt8>?,
    y: UnsafePointer<UInt8>?,
    data: UnsafeMutableRawPointer?
) -> Int32 {
    guard let output, let x else { return 0 }
    output.update(from: x, count: 32)
    return 1
}

private func wipe(_ keypair: inout secp256k1_keypair) {
    withUnsafeMutableBytes(of: &keypair) { SecureWipe.wipe($0) }
}
