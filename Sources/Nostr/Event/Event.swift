import JSON

/// A Nostr event (NIP-01). Its id and signature are unverified until ``verify()`` is called.
package struct Event: Sendable, Hashable {
    package var id: EventID
    package var pubkey: PublicKey
    /// Seconds since 1970, according to the author.
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

    /// A copy of the bytes.
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

    /// Builds the event from its scanned bytes, without parsing the other fields again.
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
                // Nearly all tags have two to four parts.
                tags[tags.count - 1].reserveCapacity(4)
            case .string(let string): tags[tags.count - 1].append(strings.text(string))
            case .tagEnds: break
            }
        }
        return tags
    }
}

/// The events of a kind that a relay keeps (NIP-01).
package enum Retention: Hashable, Sendable {
    /// All events.
    case regular
    /// The newest event of each author.
    case replaceable
    /// No events: they are forwarded and dropped.
    case ephemeral
    /// The newest event of each author and value of `d`.
    case addressable
}

extension Kind {
    /// The retention by the ranges of NIP-01. Kinds outside of all ranges count as regular.
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
    /// Whether this version of a replaceable or addressable event replaces `other` (NIP-01): the newer one wins, or the
    /// one with the lower id if both have the same second.
    func supersedes(_ other: Event) -> Bool {
        createdAt == other.createdAt ? id < other.id : createdAt > other.createdAt
    }
}

/// An error that makes an event invalid (NIP-01). The description can follow `invalid: ` in a response to the sender;
/// it quotes no part of the event.
package enum EventError: Error, Hashable, Sendable, CustomStringConvertible {
    case malformed(JSONSyntaxError)
    case notAnObject
    case missing(EventField)
    case repeated(EventField)
    case wrong(EventField)
    case wrongID
    case wrongSignature

    package var description: String {
        switch self {
        case .malformed(let fault): "the event is not well-formed JSON: \(fault)"
        case .notAnObject: "an event must be a JSON object"
        case .missing(let field): "\(field.name) is missing: expected \(field.expectation)"
        case .repeated(let field): "\(field.name) must occur only once"
        case .wrong(let field): "\(field.name) must be \(field.expectation)"
        case .wrongID: "id must be the SHA-256 of the event's canonical form"
        case .wrongSignature: "sig must be a signature of the id by pubkey"
        }
    }
}

extension EventError: JSONSyntaxErrorConvertible {
    package init(_ fault: JSONSyntaxError) {
        self = .malformed(fault)
    }
}

/// The required fields of an event (NIP-01), one bit each.
package enum EventField: UInt8, CaseIterable, Hashable, Sendable {
    case id = 1
    case pubkey = 2
    case createdAt = 4
    case kind = 8
    case tags = 16
    case content = 32
    case signature = 64

    /// All bits.
    static let all: UInt8 = 127

    /// The name in JSON.
    package var name: String {
        switch self {
        case .id: "id"
        case .pubkey: "pubkey"
        case .createdAt: "created_at"
        case .kind: "kind"
        case .tags: "tags"
        case .content: "content"
        case .signature: "sig"
        }
    }

    /// The value that NIP-01 requires.
    var expectation: String {
        switch self {
        case .id, .pubkey: "64 lowercase hexadecimal digits"
        case .createdAt: "an integer from 0 to 9223372036854775807, in seconds"
        case .kind: "an integer from 0 to 65535"
        case .tags: "an array of tags, each an array of one or more strings"
        case .content: "a string"
        case .signature: "128 lowercase hexadecimal digits"
        }
    }
}

extension EventField {
    /// Returns the field with that key; `nil` if it is unknown.
    @inline(__always)
    init?<Failure>(_ key: JSONString, in reader: JSONReader<Failure>) {
        if key.traits.contains(.escaped) {
            self.init(escaped: key, in: reader)
        } else if key.end &+ 8 <= reader.count {
            self.init(reader.word(key.start), length: key.count, in: reader, at: key.start)
        } else {
            self.init(slowly: key, in: reader)
        }
    }

    /// Compares the eight bytes from the key's start; the first `length` of them are the key.
    @inline(__always)
    private init?<Failure>(_ word: UInt64, length: Int, in reader: JSONReader<Failure>, at start: Int) {
        switch length {
        case 2 where word & 0xffff == 0x6469: self = .id
        case 3 where word & 0xff_ffff == 0x67_6973: self = .signature
        case 4 where word & 0xffff_ffff == 0x646e_696b: self = .kind
        case 4 where word & 0xffff_ffff == 0x7367_6174: self = .tags
        case 6 where word & 0xffff_ffff_ffff == 0x7965_6b62_7570: self = .pubkey
        case 7 where word & 0xff_ffff_ffff_ffff == 0x74_6e65_746e_6f63: self = .content
        case 10 where word == 0x5f64_6574_6165_7263 && reader.word(start &+ 2) == 0x7461_5f64_6574_6165:
            self = .createdAt
        default: return nil
        }
    }

    @inline(never)
    private init?<Failure>(slowly key: JSONString, in reader: JSONReader<Failure>) {
        self.init(name: UnsafeRawBufferPointer(start: reader.base + key.start, count: key.count))
    }

    @inline(never)
    private init?<Failure>(escaped key: JSONString, in reader: JSONReader<Failure>) {
        let field = reader.bytes(key).withUnsafeBytes { EventField(name: $0) }
        guard let field else { return nil }
        self = field
    }

    private init?(name: UnsafeRawBufferPointer) {
        guard let field = Self.allCases.first(where: { $0.name.utf8.elementsEqual(name) }) else { return nil }
        self = field
    }
}
