extension Event {
    /// Reads an event (NIP-01) as strictly as ``EventScanner`` does. Does not verify it.
    package init(json: UnsafeRawBufferPointer) throws(EventError) {
        var scanner = EventScanner()
        try self.init(scanned: scanner.scan(json), in: json)
    }

    /// Reads an event (NIP-01) as strictly as ``EventScanner`` does. Does not verify it.
    package init(json: [UInt8]) throws(EventError) {
        self = try json.withUnsafeBufferPointer { bytes throws(EventError) in
            try Event(json: UnsafeRawBufferPointer(bytes))
        }
    }

    /// Builds the event from the bytes it was scanned in, without going over the other fields again.
    ///
    /// Throws if these are not the bytes of that event.
    package init(scanned event: ScannedEvent, in json: UnsafeRawBufferPointer) throws(EventError) {
        var contentReader = try JSONReader<EventError>(json, at: event.content.range.lowerBound - 1)
        let content = try contentReader.string()
        var tagReader = try JSONReader<EventError>(json, at: event.tags.range.lowerBound)
        self.init(
            id: event.id,
            pubkey: event.pubkey,
            createdAt: event.createdAt,
            kind: event.kind,
            tags: try tagReader.tags(),
            content: contentReader.text(content),
            signature: event.signature
        )
    }
}

extension JSONReader<EventError> {
    /// Reads an array of tags.
    fileprivate mutating func tags() throws(EventError) -> [[String]] {
        let strings = self
        var tags: [[String]] = []
        var tag: [String] = []
        try tagParts { part in
            switch part {
            case .tagBegins: tag = []
            case .string(let string): tag.append(strings.text(string))
            case .tagEnds: tags.append(tag)
            }
        }
        return tags
    }
}
