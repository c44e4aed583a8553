import Core

/// Keys and ids in the form that people copy and paste (NIP-19). Events and filters do not use this form.
package enum NIP19 {
    static let publicKeyPrefix = "npub"
    static let secretKeyPrefix = "nsec"
    static let notePrefix = "note"
    static let profilePrefix = "nprofile"
    static let eventPrefix = "nevent"
    static let addressPrefix = "naddr"

    /// The maximum length of a string in characters.
    static let longest = 5_000

    /// The type of a part of an entity, a byte before its length.
    enum PartType: UInt8 {
        /// The value named by the prefix: a key, an event's id or the value of `d`.
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

    /// Returns an event's id with the author and kind that help others find the event, if known.
    package static func nevent(_ id: EventID, author: PublicKey? = nil, kind: Kind? = nil) -> String {
        var parts = [(PartType.special, id.array)]
        if let author { parts.append((.author, author.array)) }
        if let kind { parts.append((.kind, self.bytes(of: kind))) }
        return self.text(prefix: self.eventPrefix, parts)
    }

    /// Returns a key as an `nprofile` that names no relays.
    package static func nprofile(_ key: PublicKey) -> String {
        self.text(prefix: self.profilePrefix, [(.special, key.array)])
    }

    /// Returns the address of an addressable or replaceable event; nil if its identifier is longer than 255 bytes, the
    /// maximum of a part.
    package static func naddr(_ address: EventAddress) -> String? {
        let identifier = Array(address.identifier.utf8)
        guard identifier.count <= UInt8.max else { return nil }
        return self.text(
            prefix: self.addressPrefix,
            [(.special, identifier), (.author, address.pubkey.array), (.kind, self.bytes(of: address.kind))]
        )
    }

    /// Four bytes, big-endian.
    private static func bytes(of kind: Kind) -> [UInt8] {
        [0, 0, UInt8(kind.rawValue >> 8), UInt8(kind.rawValue & 0xFF)]
    }

    /// Each part must be shorter than 256 bytes.
    static func text(prefix: String, _ parts: [(PartType, [UInt8])]) -> String {
        let bytes = parts.flatMap { type, value in [type.rawValue, UInt8(value.count)] + value }
        return Bech32(prefix: prefix, bytes: bytes).text
    }

    /// Returns the secret itself: for a key file, never for a log.
    package static func nsec(_ key: SecretKey) -> String {
        Bech32(prefix: self.secretKeyPrefix, bytes: key.reveal()).text
    }

    package static func publicKey(npub text: String) -> PublicKey? {
        self.bytes(of: text, prefix: self.publicKeyPrefix).flatMap { PublicKey(bytes: $0) }
    }

    package static func eventID(note text: String) -> EventID? {
        self.bytes(of: text, prefix: self.notePrefix).flatMap { EventID(bytes: $0) }
    }

    /// Returns the id in a `nevent`. Other parts are ignored.
    package static func eventID(nevent text: String) -> EventID? {
        self.parts(of: text, prefix: self.eventPrefix)?.first(.special).flatMap { EventID(bytes: $0) }
    }

    /// Returns the key in an `nprofile`. Other parts are ignored.
    package static func publicKey(nprofile text: String) -> PublicKey? {
        self.parts(of: text, prefix: self.profilePrefix)?.first(.special).flatMap { PublicKey(bytes: $0) }
    }

    /// Returns the address in an `naddr`. Other parts are ignored.
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

    /// Returns `nil` for a number that is not a valid secret key, too.
    package static func secretKey(nsec text: String) -> SecretKey? {
        self.bytes(of: text, prefix: self.secretKeyPrefix).flatMap { try? SecretKey(bytes: $0) }
    }

    private static func bytes(of text: String, prefix: String) -> [UInt8]? {
        guard let entity = Bech32(text), entity.prefix == prefix else { return nil }
        return entity.bytes
    }
}

/// A BIP-173 string: a readable prefix, values of five bits, and a checksum that detects typing errors.
package struct Bech32: Hashable, Sendable {
    private static let alphabet = Array("qpzry9x8gf2tvdw0s3jn54khce6mua7l".utf8)
    private static let separator = UInt8(ascii: "1")
    private static let checksumCount = 6
    /// The maximum length in characters, beyond which the checksum guarantees less.
    package static let maximumCount = 90

    /// Lowercase.
    package let prefix: String
    /// Values below 32, without the checksum.
    package let values: [UInt8]

    private init(prefix: String, values: [UInt8]) {
        self.prefix = prefix
        self.values = values
    }

    /// Splits `bytes` into values of five bits. The last one is padded with zeros.
    init(prefix: String, bytes: [UInt8]) {
        var values: [UInt8] = []
        var group: UInt32 = 0
        var bits: UInt32 = 0
        for byte in bytes {
            group = group << 8 | UInt32(byte)
            bits += 8
            while bits >= 5 {
                bits -= 5
                values.append(UInt8(truncatingIfNeeded: group >> bits) & 0x1f)
            }
        }
        if bits > 0 {
            values.append(UInt8(truncatingIfNeeded: group << (5 - bits)) & 0x1f)
        }
        self.init(prefix: prefix, values: values)
    }

    /// Reads a string that is all lowercase or all uppercase; `nil` if it violates BIP-173. NIP-19 allows more
    /// characters than BIP-173: up to `limit`.
    package init?(_ text: String, limit: Int = maximumCount) {
        let characters = Array(text.utf8)
        let lowercase = characters.map(\.lowercasedASCII)
        let hasUppercase = characters != lowercase
        let hasLowercase = characters.contains { (0x61...0x7a).contains($0) }
        guard
            lowercase.count <= limit, !(hasUppercase && hasLowercase),
            let separator = lowercase.lastIndex(of: Self.separator)
        else { return nil }
        let prefix = lowercase[..<separator]
        let values = lowercase[(separator + 1)...].compactMap { character in
            Self.alphabet.firstIndex(of: character).map { UInt8(truncatingIfNeeded: $0) }
        }
        guard
            !prefix.isEmpty, prefix.allSatisfy({ (0x21...0x7e).contains($0) }),
            values.count == lowercase.count - separator - 1, values.count >= Self.checksumCount,
            Self.checksum(Self.expanded(prefix) + values) == 1
        else { return nil }
        self.init(prefix: String(decoding: prefix, as: UTF8.self), values: values.dropLast(Self.checksumCount))
    }

    /// The string in lowercase.
    package var text: String {
        let padded = Self.expanded(self.prefix.utf8) + self.values + [UInt8](repeating: 0, count: Self.checksumCount)
        let checksum = Self.checksum(padded) ^ 1
        let last = (0..<Self.checksumCount).map { position in
            UInt8(truncatingIfNeeded: checksum >> UInt32(5 * (Self.checksumCount - 1 - position))) & 0x1f
        }
        let characters = (self.values + last).map { Self.alphabet[Int($0 & 0x1f)] }
        return self.prefix + "1" + String(decoding: characters, as: UTF8.self)
    }

    /// The values as bytes; `nil` if the remainder has more than four bits or is not zero.
    package var bytes: [UInt8]? {
        var bytes: [UInt8] = []
        var group: UInt32 = 0
        var bits: UInt32 = 0
        for value in self.values {
            group = group << 5 | UInt32(value)
            bits += 5
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: group >> bits))
            }
        }
        return bits < 5 && group & (1 << bits - 1) == 0 ? bytes : nil
    }

    private static func expanded(_ prefix: some Sequence<UInt8>) -> [UInt8] {
        prefix.map { $0 >> 5 } + [0] + prefix.map { $0 & 0x1f }
    }

    /// Returns the remainder of BIP-173's generator.
    private static func checksum(_ values: [UInt8]) -> UInt32 {
        let generator: [UInt32] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3]
        return values.reduce(1) { remainder, value in
            let top = remainder >> 25
            return generator.enumerated().reduce((remainder & 0x1ff_ffff) << 5 ^ UInt32(value)) { sum, term in
                top >> UInt32(term.offset) & 1 == 1 ? sum ^ term.element : sum
            }
        }
    }
}

/// The key, event or address in a `nostr:` URI (NIP-21, NIP-27).
package enum NostrReference: Hashable, Sendable {
    case profile(PublicKey)
    case event(EventID)
    case address(EventAddress)

    /// A reference found in a text.
    package struct Found: Sendable {
        /// The whole URI.
        package let range: Range<String.Index>
        package let reference: NostrReference
        /// The part after `nostr:`.
        package let entity: Substring
    }

    private static let scheme = Array("nostr:".utf8)

    /// Reads `npub1…`, `nprofile1…`, `note1…`, `nevent1…` and `naddr1…`. Relays and other data in them are ignored.
    package init?(_ entity: String) {
        let reference: NostrReference? =
            switch entity.prefix(while: { $0 != "1" }).lowercased() {
            case NIP19.publicKeyPrefix: NIP19.publicKey(npub: entity).map(NostrReference.profile)
            case NIP19.profilePrefix: NIP19.publicKey(nprofile: entity).map(NostrReference.profile)
            case NIP19.notePrefix: NIP19.eventID(note: entity).map(NostrReference.event)
            case NIP19.eventPrefix: NIP19.eventID(nevent: entity).map(NostrReference.event)
            case NIP19.addressPrefix: NIP19.address(naddr: entity).map(NostrReference.address)
            default: nil
            }
        guard let reference else { return nil }
        self = reference
    }

    /// Returns the first `limit` references in `text`. Parts of a longer word or URL do not count.
    package static func all(in text: String, limit: Int) -> [Found] {
        let bytes = text.utf8
        var found: [Found] = []
        var position = bytes.startIndex
        while found.count < limit, let colon = bytes[position...].firstIndex(of: UInt8(ascii: ":")) {
            let end = bytes[bytes.index(after: colon)...].firstIndex { !isEntityByte($0) } ?? bytes.endIndex
            position = end
            guard let start = bytes.index(colon, offsetBy: 1 - scheme.count, limitedBy: bytes.startIndex),
                bytes[start...colon].elementsEqual(scheme),
                start == bytes.startIndex || !isWordByte(bytes[bytes.index(before: start)])
            else { continue }
            let entity = text[bytes.index(after: colon)..<end]
            if let reference = NostrReference(String(entity)) {
                found.append(Found(range: start..<end, reference: reference, entity: entity))
            }
        }
        return found
    }

    private static func isEntityByte(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte) || (0x41...0x5A).contains(byte)
    }

    /// A character before a scheme that is part of a longer scheme, or of a URL that contains another.
    private static func isWordByte(_ byte: UInt8) -> Bool {
        isEntityByte(byte) || "+-._/".utf8.contains(byte)
    }
}
