private import Cipher
package import Schnorr

/// The text of a file that holds one secret key: 64 hexadecimal digits, or an `nsec` of NIP-19, on one line.
package enum KeyFile {
    /// Reads the key; blanks and line ends around it are allowed.
    ///
    /// Throws a ``KeyFileError``, which never quotes the text.
    package static func parse(_ text: String) throws -> SecretKey {
        let words = text.split(whereSeparator: \.isWhitespace)
        guard let word = words.first else {
            throw KeyFileError.empty
        }
        guard words.count == 1 else {
            throw KeyFileError.severalWords
        }
        if let bytes = Hex.decode(anyCase: word), bytes.count == SecretKey.byteCount {
            return try self.key(bytes)
        }
        switch Bech32(String(word)) {
        case .some(let entity) where entity.prefix == NIP19.secretKeyPrefix:
            guard let bytes = entity.bytes, bytes.count == SecretKey.byteCount else {
                throw KeyFileError.notAKey
            }
            return try self.key(bytes)
        case .some(let entity) where entity.prefix == NIP19.publicKeyPrefix:
            throw KeyFileError.publicKey
        default:
            throw KeyFileError.notAKey
        }
    }

    /// What to write for `key`: the secret itself.
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
