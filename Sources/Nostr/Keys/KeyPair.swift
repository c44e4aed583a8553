import Cipher

/// A secret key and its public key.
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

    /// Makes a new pair.
    package init(random: RandomBytes) throws {
        try self.init(secret: SecretKey(random: random))
    }

    /// Signs the id of an event (NIP-01). `random` returns the 32 bytes that BIP-340 mixes into the nonce.
    package func sign(_ id: EventID, random: RandomBytes = SecureRandom.bytes) throws -> Signature {
        let bytes = try self.secret.sign(id.array, auxiliaryRandomness: random(32))
        guard let signature = Signature(bytes: bytes) else { throw CipherError.libraryFailure(operation: "signing") }
        return signature
    }
}

/// The content of a file with one secret key: 64 hexadecimal digits, or an `nsec` of NIP-19, on one line.
package enum KeyFile {
    /// Reads the key; whitespace around it is allowed.
    ///
    /// Throws a ``KeyFileError``, which never quotes the content.
    package static func parse(_ text: String) throws -> SecretKey {
        let words = text.split(whereSeparator: \.isWhitespace)
        guard let word = words.first else { throw KeyFileError.empty }
        guard words.count == 1 else { throw KeyFileError.severalWords }
        if let bytes = Hex.decode(anyCase: word), bytes.count == SecretKey.byteCount {
            return try self.key(bytes)
        }
        switch Bech32(String(word)) {
        case .some(let entity) where entity.prefix == NIP19.secretKeyPrefix:
            guard let bytes = entity.bytes, bytes.count == SecretKey.byteCount else { throw KeyFileError.notAKey }
            return try self.key(bytes)
        case .some(let entity) where entity.prefix == NIP19.publicKeyPrefix:
            throw KeyFileError.publicKey
        default:
            throw KeyFileError.notAKey
        }
    }

    /// Returns the file content for `key`: the secret itself.
    package static func text(of key: SecretKey) -> String {
        NIP19.nsec(key) + "\n"
    }

    private static func key(_ bytes: [UInt8]) throws -> SecretKey {
        do {
            return try SecretKey(bytes: bytes)
        } catch {
            throw KeyFileError.outOfRange
        }
    }
}

/// An error in the content of a key file. Quotes none of it.
package enum KeyFileError: Error, Hashable, CustomStringConvertible {
    case empty
    case severalWords
    case publicKey
    case notAKey
    case outOfRange

    package var description: String {
        switch self {
        case .empty:
            "the key file is empty; expected 64 hexadecimal digits or an nsec on one line"
        case .severalWords:
            "the key file has more than one word; expected 64 hexadecimal digits or an nsec on one line"
        case .publicKey:
            "the key file has a public key (npub); expected the secret key, an nsec or 64 hexadecimal digits"
        case .notAKey:
            "the key file has no valid secret key; expected 64 hexadecimal digits or an nsec (check for typing errors)"
        case .outOfRange:
            "the key file has a number that is not a valid secp256k1 secret key; create another one"
        }
    }
}
