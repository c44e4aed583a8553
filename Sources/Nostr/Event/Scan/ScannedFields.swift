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
        guard seen == EventField.all else { throw .missing(firstMissing) }
        return ScannedEvent(
            id: EventID(id),
            pubkey: PublicKey(pubkey),
            createdAt: createdAt,
            kind: Kind(kind),
            signature: signature,
            content: content,
            tags: tags
        )
    }

    private var firstMissing: EventField {
        EventField.allCases.first { seen & $0.rawValue == 0 } ?? .id
    }
}
