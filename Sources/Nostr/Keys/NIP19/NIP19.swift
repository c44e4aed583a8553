package import Schnorr

/// Bare keys and ids in the form people copy and paste (NIP-19). Nothing in events or filters looks like this.
package enum NIP19 {
    static let publicKeyPrefix = "npub"
    static let secretKeyPrefix = "nsec"
    static let notePrefix = "note"

    package static func npub(_ key: PublicKey) -> String {
        Bech32(prefix: self.publicKeyPrefix, bytes: key.array).text
    }

    package static func note(_ id: EventID) -> String {
        Bech32(prefix: self.notePrefix, bytes: id.array).text
    }

    /// Spells out the secret itself: for a key file, never for a log.
    package static func nsec(_ key: SecretKey) -> String {
        Bech32(prefix: self.secretKeyPrefix, bytes: key.reveal()).text
    }

    package static func publicKey(npub text: String) -> PublicKey? {
        self.bytes(of: text, prefix: self.publicKeyPrefix).flatMap { PublicKey(bytes: $0) }
    }

    package static func eventID(note text: String) -> EventID? {
        self.bytes(of: text, prefix: self.notePrefix).flatMap { EventID(bytes: $0) }
    }

    /// Returns `nil` as well for a number that is no secret key.
    package static func secretKey(nsec text: String) -> SecretKey? {
        self.bytes(of: text, prefix: self.secretKeyPrefix).flatMap { try? SecretKey(bytes: $0) }
    }

    private static func bytes(of text: String, prefix: String) -> [UInt8]? {
        guard let entity = Bech32(text), entity.prefix == prefix else {
            return nil
        }
        return entity.bytes
    }
}
