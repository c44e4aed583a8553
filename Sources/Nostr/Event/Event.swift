import JSON

/// A Nostr event (NIP-01). Having one says nothing about its id and signature: ``verify()`` does.
package struct Event: Sendable, Hashable {
    package var id: EventID
    package var pubkey: PublicKey
    /// Seconds since 1970, as the author claims.
    package var createdAt: Int64
    package var kind: Kind
    package var tags: [[String]]
    package var content: String
    package var signature: Signature

    package init(
        id: EventID,
        pubkey: PublicKey,
        createdAt: Int64,
        kind: Kind,
        tags: [[String]],
        content: String,
        signature: Signature
    ) {
        self.id = id
        self.pubkey = pubkey
        self.createdAt = createdAt
        self.kind = kind
        self.tags = tags
        self.content = content
        self.signature = signature
    }
}

/// The SHA-256 of an event's canonical form (NIP-01).
package struct EventID: Hashable, Sendable {
    package let bytes: Bytes32

    package init(_ bytes: Bytes32) {
        self.bytes = bytes
    }

    package func _rawHashValue(seed: Int) -> Int { bytes._rawHashValue(seed: seed) }
}

/// A BIP-340 signature: 64 bytes.
package struct Signature: Hashable, Sendable {
    package var first: Bytes32
    package var second: Bytes32

    package init(first: Bytes32, second: Bytes32) {
        self.first = first
        self.second = second
    }
}

extension Signature {
    /// Takes exactly 64 bytes.
    package init?(bytes: some Collection<UInt8>) {
        guard
            bytes.count == 64,
            let first = Bytes32(bytes: bytes.prefix(32)),
            let second = Bytes32(bytes: bytes.dropFirst(32))
        else { return nil }
        self.init(first: first, second: second)
    }

    /// The bytes in an array of their own.
    package var array: [UInt8] {
        self.first.array + self.second.array
    }
}

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
        tags.reserveCapacity(4)
        try tagParts { part in
            switch part {
            case .tagBegins:
                tags.append([])
                // Nearly all have two to four parts.
                tags[tags.count - 1].reserveCapacity(4)
            case .string(let string): tags[tags.count - 1].append(strings.text(string))
            case .tagEnds: break
            }
        }
        return tags
    }
}

/// The events of a kind that relays keep (NIP-01).
package enum Retention: Hashable, Sendable {
    /// All.
    case regular
    /// The newest of each author.
    case replaceable
    /// None: they are passed on and forgotten.
    case ephemeral
    /// The newest of each author and value of `d`.
    case addressable
}

extension Kind {
    /// Kinds that NIP-01 puts in no range count as regular.
    package var retention: Retention {
        switch rawValue {
        case 0, 3, 10_000...19_999: .replaceable
        case 20_000...29_999: .ephemeral
        case 30_000...39_999: .addressable
        default: .regular
        }
    }
}

extension Event {
    /// Whether this version of a replaceable or addressable event takes the place of `other` (NIP-01): the newer one
    /// does, and of two from the same second that with the lower id.
    package func supersedes(_ other: Event) -> Bool {
        createdAt == other.createdAt ? id < other.id : createdAt > other.createdAt
    }
}
