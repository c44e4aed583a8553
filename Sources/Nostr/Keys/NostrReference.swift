/// The key, event or address that a `nostr:` URI in a text names (NIP-21, NIP-27).
package enum NostrReference: Hashable, Sendable {
    case profile(PublicKey)
    case event(EventID)
    case address(EventAddress)

    /// One in a text.
    package struct Found: Sendable {
        /// The whole URI.
        package let range: Range<String.Index>
        package let reference: NostrReference
        /// What stands behind `nostr:`.
        package let entity: Substring
    }

    private static let scheme = Array("nostr:".utf8)

    /// Reads `npub1…`, `nprofile1…`, `note1…`, `nevent1…` and `naddr1…`; relays and further data in them are left out.
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

    /// The first `limit` references in `text`. What is part of a longer word or URL is none.
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

    /// What may stand before a scheme in a longer one, or in a URL that holds another.
    private static func isWordByte(_ byte: UInt8) -> Bool {
        isEntityByte(byte) || "+-._/".utf8.contains(byte)
    }
}
