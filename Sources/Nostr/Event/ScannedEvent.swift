import JSON

/// An event as ``EventScanner`` saw it: the fixed fields decoded, content and tags as places in its bytes.
///
/// Says nothing about id and signature being right: ``EventVerifier`` does.
package struct ScannedEvent: Hashable, Sendable {
    package let id: EventID
    package let pubkey: PublicKey
    /// Seconds since 1970, as the author claims.
    package let createdAt: Int64
    package let kind: Kind
    package let signature: Signature
    package let content: ScannedText
    package let tags: ScannedText

    /// Whether content and tags stand there exactly as in the canonical form of NIP-01.
    package var isCanonical: Bool { content.isCanonical && tags.isCanonical }
}

/// Where a part of a scanned event lies, and how it is written.
package struct ScannedText: Hashable, Sendable {
    /// Offsets in the scanned bytes: of the text between the quotation marks of a content, of an array of tags with
    /// both its brackets.
    package let range: Range<Int>
    /// Whether it is written exactly as in the canonical form of NIP-01: no whitespace between tags, no escapes that
    /// need not be.
    package let isCanonical: Bool
    /// Whether it has control characters without an escape of their own in NIP-01, for which two canonical forms are
    /// in use.
    package let hasControlCharacters: Bool

    init(range: Range<Int>, traits: JSONString.Traits, hasWhitespace: Bool = false) {
        self.range = range
        self.isCanonical = !traits.contains(.recoded) && !hasWhitespace
        self.hasControlCharacters = traits.contains(.control)
    }
}

/// The fields of an event while it is being scanned.
struct ScannedFields {
    /// The bits of the ``EventField``s met so far.
    var seen: UInt8 = 0
    var id = Bytes32(words: (0, 0, 0, 0))
    var pubkey = Bytes32(words: (0, 0, 0, 0))
    var createdAt: Int64 = 0
    var kind: UInt16 = 0
    var tags = ScannedText(range: 0..<0, traits: [])
    var content = ScannedText(range: 0..<0, traits: [])
    var signature = Signature(first: Bytes32(words: (0, 0, 0, 0)), second: Bytes32(words: (0, 0, 0, 0)))

    @inline(__always)
    func event() throws(EventError) -> ScannedEvent {
        let kind = try checkedKind()
        return ScannedEvent(
            id: EventID(id),
            pubkey: PublicKey(pubkey),
            createdAt: createdAt,
            kind: kind,
            signature: signature,
            content: content,
            tags: tags
        )
    }

    /// The kind, where no field is missing.
    @inline(__always)
    func checkedKind() throws(EventError) -> Kind {
        guard seen == EventField.all else { throw .missing(firstMissing) }
        return Kind(kind)
    }

    private var firstMissing: EventField {
        EventField.allCases.first { seen & $0.rawValue == 0 } ?? .id
    }
}
