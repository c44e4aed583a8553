extension JSONText {
    /// What is hashed for the id, from the parts of an event.
    mutating func appendCanonical(
        pubkey: PublicKey,
        createdAt: Int64,
        kind: Kind,
        tags: [[String]],
        content: String
    ) {
        appendHead(pubkey: pubkey, createdAt: createdAt, kind: kind)
        append(tags)
        append(",")
        appendQuoted(content)
        append("]")
    }

    /// What is hashed for the id, from the bytes an event was scanned in, copied wherever they are canonical.
    ///
    /// Throws if these are not the bytes of that event.
    mutating func appendCanonical(
        _ event: ScannedEvent,
        in json: UnsafeRawBufferPointer
    ) throws(EventError) {
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
