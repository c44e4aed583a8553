package import Schnorr

/// Keys and ids in the form people copy and paste (NIP-19). Nothing in events or filters looks like this.
package enum NIP19 {
    static let publicKeyPrefix = "npub"
    static let secretKeyPrefix = "nsec"
    static let notePrefix = "note"
    static let profilePrefix = "nprofile"
    static let eventPrefix = "nevent"
    static let addressPrefix = "naddr"

    /// Of texts, in characters.
    static let longest = 5_000

    /// What a part of an entity with several parts is; a byte before its length.
    enum PartType: UInt8 {
        /// What the prefix promises: a key, an event's id or the value of `d`.
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
        if let kind { parts.append((.kind, self.bytes(of: kind))) }
        return self.text(prefix: self.eventPrefix, parts)
    }

    /// A key in the form that may name relays; names none.
    package static func nprofile(_ key: PublicKey) -> String {
        self.text(prefix: self.profilePrefix, [(.special, key.array)])
    }

    /// Where an addressable or replaceable event is found; nil when its identifier is longer than 255 bytes, the most
    /// that a part may have.
    package static func naddr(_ address: EventAddress) -> String? {
        let identifier = Array(address.identifier.utf8)
        guard identifier.count <= UInt8.max else { return nil }
        return self.text(
            prefix: self.addressPrefix,
            [(.special, identifier), (.author, address.pubkey.array), (.kind, self.bytes(of: address.kind))]
        )
    }

    /// Four bytes, the highest first.
    private static func bytes(of kind: Kind) -> [UInt8] {
        [0, 0, UInt8(kind.rawValue >> 8), UInt8(kind.rawValue & 0xFF)]
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
        self.parts(of: text, prefix: self.eventPrefix)?.first(.special).flatMap { EventID(bytes: $0) }
    }

    /// The key in an `nprofile`, whatever else it says.
    package static func publicKey(nprofile text: String) -> PublicKey? {
        self.parts(of: text, prefix: self.profilePrefix)?.first(.special).flatMap { PublicKey(bytes: $0) }
    }

    /// The address in an `naddr`, whatever else it says.
    package static func address(naddr text: String) -> EventAddress? {
        guard let parts = self.parts(of: text, prefix: self.addressPrefix),
            let identifier = parts.first(.special).flatMap({ String(validating: $0, as: UTF8.self) }),
            let author = parts.first(.author).flatMap({ PublicKey(bytes: $0) }),
            let kind = parts.first(.kind), kind.count == 4, kind[0] == 0, kind[1] == 0
        else { return nil }
        let number = UInt16(kind[2]) << 8 | UInt16(kind[3])
        return EventAddress(kind: Kind(number), pubkey: author, identifier: identifier)
    }

    /// The parts of an entity, without an incomplete last part and without parts of unknown types.
    private struct Parts {
        private(set) var values: [(type: PartType, value: [UInt8])] = []

        init(_ bytes: [UInt8]) {
            var rest = bytes[...]
            while let type = rest.popFirst(), let count = rest.popFirst(), rest.count >= Int(count) {
                if let type = PartType(rawValue: type) { values.append((type, Array(rest.prefix(Int(count))))) }
                rest = rest.dropFirst(Int(count))
            }
        }

        func first(_ type: PartType) -> [UInt8]? { values.first { $0.type == type }?.value }
    }

    private static func parts(of text: String, prefix: String) -> Parts? {
        guard let entity = Bech32(text, limit: self.longest), entity.prefix == prefix else { return nil }
        return entity.bytes.map { Parts($0) }
    }

    /// Returns `nil` as well for a number that is no secret key.
    package static func secretKey(nsec text: String) -> SecretKey? {
        self.bytes(of: text, prefix: self.secretKeyPrefix).flatMap { try? SecretKey(bytes: $0) }
    }

    private static func bytes(of text: String, prefix: String) -> [UInt8]? {
        guard let entity = Bech32(text), entity.prefix == prefix else { return nil }
        return entity.bytes
    }
}
