package import Schnorr

/// Keys and ids in the form people copy and paste (NIP-19). Nothing in events or filters looks like this.
package enum NIP19 {
    static let publicKeyPrefix = "npub"
    static let secretKeyPrefix = "nsec"
    static let notePrefix = "note"
    static let eventPrefix = "nevent"

    /// Of texts, in characters.
    static let longest = 5_000

    /// What a part of an entity with several parts is; a byte before its length.
    enum PartType: UInt8 {
        /// What the prefix promises: here an event's id.
        case special = 0
        case relay = 1
        case author = 2
        case kind = 3
    }

    package static func npub(_ key: PublicKey) -> String {
        Bech32(prefix: self.publicKeyPrefix, bytes: key.array).text
    }

    package static func note(_ id: EventID) -> String {
        Bech32(prefix: self.notePrefix, bytes: id.array).text
    }

    /// An event's id with what helps others find the event, as far as it is known.
    package static func nevent(_ id: EventID, author: PublicKey? = nil, kind: Kind? = nil) -> String {
        var parts = [(PartType.special, id.array)]
        if let author { parts.append((.author, author.array)) }
        if let kind { parts.append((.kind, [0, 0, UInt8(kind.rawValue >> 8), UInt8(kind.rawValue & 0xFF)])) }
        return self.text(prefix: self.eventPrefix, parts)
    }

    /// Each part is shorter than 256 bytes.
    static func text(prefix: String, _ parts: [(PartType, [UInt8])]) -> String {
        let bytes = parts.flatMap { type, value in [type.rawValue, UInt8(value.count)] + value }
        return Bech32(prefix: prefix, bytes: bytes).text
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

    /// The id in a `nevent`, whatever else it says.
    package static func eventID(nevent text: String) -> EventID? {
        guard let entity = Bech32(text, limit: self.longest), entity.prefix == self.eventPrefix,
            var rest = entity.bytes?[...]
        else { return nil }
        while let type = rest.popFirst(), let count = rest.popFirst(), rest.count >= Int(count) {
            if type == PartType.special.rawValue { return EventID(bytes: Array(rest.prefix(Int(count)))) }
            rest = rest.dropFirst(Int(count))
        }
        return nil
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
