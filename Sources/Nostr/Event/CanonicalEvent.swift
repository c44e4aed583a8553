import Cipher
import JSON

extension Event {
    /// The canonical form that is hashed for the id (NIP-01). Control characters without an escape in NIP-01 become
    /// `\u00xx`.
    var canonicalBytes: [UInt8] {
        canonicalBytes(as: .escaped)
    }

    /// The correct id of this event (NIP-01).
    package var computedID: EventID {
        var digest = Bytes32(words: (0, 0, 0, 0))
        canonicalBytes.withUnsafeBytes { bytes in
            withUnsafeMutableBytes(of: &digest) { SHA256Hasher().hash(bytes, into: $0) }
        }
        return EventID(digest)
    }

    /// The event as JSON in canonical spelling, with the fields in the order of NIP-01.
    package var json: [UInt8] {
        var text = JSONText(spelling: .escaped)
        text.bytes.reserveCapacity(content.utf8.count + 512)
        text.append("{\"id\":")
        text.appendQuoted(id.bytes)
        text.append(",\"pubkey\":")
        text.appendQuoted(pubkey.bytes)
        text.append(",\"created_at\":")
        text.append(createdAt)
        text.append(",\"kind\":")
        text.append(kind.rawValue)
        text.append(",\"tags\":")
        text.append(tags)
        text.append(",\"content\":")
        text.appendQuoted(content)
        text.append(",\"sig\":\"")
        Hex.append(signature.first.words, to: &text.bytes)
        Hex.append(signature.second.words, to: &text.bytes)
        text.append("\"}")
        return text.bytes
    }

    /// ``json`` as a string.
    package var jsonString: String {
        String(decoding: json, as: UTF8.self)
    }

    func canonicalBytes(as spelling: JSONSpelling) -> [UInt8] {
        var text = JSONText(spelling: spelling)
        text.bytes.reserveCapacity(content.utf8.count + 256)
        text.appendCanonical(pubkey: pubkey, createdAt: createdAt, kind: kind, tags: tags, content: content)
        return text.bytes
    }
}

extension JSONText {
    mutating func appendQuoted(_ hex: Bytes32) {
        append("\"")
        Hex.append(hex.words, to: &bytes)
        append("\"")
    }

    /// Appends the canonical form that is hashed for the id, from the parts of an event.
    mutating func appendCanonical(pubkey: PublicKey, createdAt: Int64, kind: Kind, tags: [[String]], content: String) {
        appendHead(pubkey: pubkey, createdAt: createdAt, kind: kind)
        append(tags)
        append(",")
        appendQuoted(content)
        append("]")
    }

    /// Appends the canonical form that is hashed for the id, from the bytes of a scanned event. Canonical parts are
    /// copied.
    ///
    /// Throws if these are not the bytes of that event.
    mutating func appendCanonical(_ event: ScannedEvent, in json: UnsafeRawBufferPointer) throws(EventError) {
        appendHead(pubkey: event.pubkey, createdAt: event.createdAt, kind: event.kind)
        if isAsWritten(event.tags) {
            try copy(event.tags.range, of: json)
        } else {
            try recodeTags(at: event.tags.range.lowerBound, of: json)
        }
        append(",\"")
        if isAsWritten(event.content) {
            try copy(event.content.range, of: json)
        } else {
            var reader = try JSONReader<EventError>(json, at: event.content.range.lowerBound - 1)
            reader.decode(try reader.string(), as: spelling, into: &bytes)
        }
        append("\"]")
    }

    private mutating func appendHead(pubkey: PublicKey, createdAt: Int64, kind: Kind) {
        append("[0,")
        appendQuoted(pubkey.bytes)
        append(",")
        append(createdAt)
        append(",")
        append(kind.rawValue)
        append(",")
    }

    private func isAsWritten(_ text: ScannedText) -> Bool {
        text.isCanonical && (spelling == .escaped || !text.hasControlCharacters)
    }

    private mutating func copy(_ range: Range<Int>, of json: UnsafeRawBufferPointer) throws(EventError) {
        guard range.lowerBound >= 0, range.upperBound <= json.count else { throw .wrongID }
        bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: json[range]))
    }

    private mutating func recodeTags(at position: Int, of json: UnsafeRawBufferPointer) throws(EventError) {
        var reader = try JSONReader<EventError>(json, at: position)
        let strings = reader
        var separator = false
        append("[")
        try reader.tagParts { part in
            switch part {
            case .tagBegins:
                append(separator ? ",[" : "[")
                separator = false
            case .string(let string):
                append(separator ? ",\"" : "\"")
                strings.decode(string, as: spelling, into: &bytes)
                append("\"")
                separator = true
            case .tagEnds:
                append("]")
                separator = true
            }
        }
        append("]")
    }
}

/// A step in reading an array of tags.
enum TagPart {
    case tagBegins
    case string(JSONString)
    case tagEnds
}

extension JSONReader<EventError> {
    /// Reads the whole array of tags and calls `visit` with each part.
    mutating func tagParts(_ visit: (TagPart) -> Void) throws(EventError) {
        try expect("[", .array)
        skipWhitespace()
        if take("]") { return }
        repeat {
            skipWhitespace()
            try expect("[", .array)
            visit(.tagBegins)
            repeat {
                skipWhitespace()
                visit(.string(try string()))
                skipWhitespace()
            } while take(",")
            try expect("]", .arrayEnd)
            visit(.tagEnds)
            skipWhitespace()
        } while take(",")
        try expect("]", .arrayEnd)
    }
}
