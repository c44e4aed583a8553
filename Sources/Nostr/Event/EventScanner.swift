import Cipher
import JSON

/// Reads events (NIP-01) without building them, to find the keys that they concern.
///
/// Checks every byte: the grammar of JSON, UTF-8, and each field's format in NIP-01. It is stricter than most JSON
/// parsers where they disagree: a field must not be repeated, `kind` and `created_at` must be digits only, and
/// surrogates must come in pairs. Unknown fields are allowed, up to 64 levels deep.
///
/// Does not allocate once its buffer of `p` values has grown. Not thread-safe: use one for each worker.
package struct EventScanner {
    /// The values of the `p` tags of the last scanned event, in order, with duplicates. Values that are not 64
    /// lowercase hexadecimal digits are omitted. For a reaction without any, the author in its last `a` tag, because
    /// `p` is only a SHOULD in NIP-25.
    package private(set) var pValues: [Bytes32] = []

    /// The maximum size of the buffer that is kept, because a huge event may enlarge it.
    private static let largestBuffer = 1 << 16

    package init() {
        pValues.reserveCapacity(64)
    }

    /// Scans `json`, which must be one event with optional whitespace around it.
    package mutating func scan(_ json: UnsafeRawBufferPointer) throws(EventError) -> ScannedEvent {
        try fields(of: json, readsKeys: true).event()
    }

    /// Returns an event's id, even if ``scan(_:)`` refuses the event, as long as the bytes up to the id can be read.
    /// The response must name it.
    package static func id(in json: UnsafeRawBufferPointer) -> EventID? {
        guard var reader = try? JSONReader<EventError>(json) else { return nil }
        reader.skipWhitespace()
        guard reader.take("{") else { return nil }
        while let key = try? reader.key() {
            if EventField(key, in: reader) == .id { return (try? reader.hexString()).flatMap { $0.map(EventID.init) } }
            guard (try? reader.skipValue()) != nil else { return nil }
            reader.skipWhitespace()
            guard reader.take(",") else { return nil }
        }
        return nil
    }

    /// Returns the kind of the event, and collects the ``pValues``. Does all checks of ``scan(_:)``, but does not
    /// decode id, author and signature, which saves a quarter of the work.
    package mutating func kind(of json: UnsafeRawBufferPointer) throws(EventError) -> Kind {
        try fields(of: json, readsKeys: false).checkedKind()
    }

    @inline(__always)
    private mutating func fields(of json: UnsafeRawBufferPointer, readsKeys: Bool) throws(EventError) -> ScannedFields {
        pValues.removeAll(keepingCapacity: pValues.capacity <= Self.largestBuffer)
        var reader = try JSONReader<EventError>(json)
        reader.skipWhitespace()
        guard reader.take("{") else { throw .notAnObject }
        var fields = ScannedFields()
        reader.skipWhitespace()
        if !reader.take("}") {
            repeat {
                let key = try reader.key()
                if let field = EventField(key, in: reader) {
                    guard fields.seen & field.rawValue == 0 else { throw .repeated(field) }
                    fields.seen |= field.rawValue
                    try scan(field, from: &reader, into: &fields, readsKeys: readsKeys)
                } else {
                    try reader.skipValue()
                }
                reader.skipWhitespace()
            } while reader.take(",")
            try reader.expect("}", .objectEnd)
        }
        try reader.end()
        if fields.kind == Kind.reaction.rawValue, pValues.isEmpty, fields.seen & EventField.tags.rawValue != 0,
            let author = try Self.authorOfAddress(in: json, fields.tags.range)
        {
            pValues.append(author)
        }
        return fields
    }

    /// Returns the author in the last `a` tag with a valid address. `tags` must have been scanned.
    private static func authorOfAddress(
        in json: UnsafeRawBufferPointer,
        _ tags: Range<Int>
    ) throws(EventError) -> Bytes32? {
        var reader = try JSONReader<EventError>(json, at: tags.lowerBound)
        var author: Bytes32?
        _ = reader.take("[")
        repeat {
            reader.skipWhitespace()
            guard reader.take("[") else { break }
            var place = 0
            var isAddress = false
            repeat {
                reader.skipWhitespace()
                let string = try reader.string()
                if place == 0 {
                    isAddress = reader.says(string, "a")
                } else if place == 1, isAddress, let address = EventAddress(reader.text(string)) {
                    author = address.pubkey.bytes
                }
                place += 1
                reader.skipWhitespace()
            } while reader.take(",")
            _ = reader.take("]")
            reader.skipWhitespace()
        } while reader.take(",")
        return author
    }

    @inline(__always)
    private mutating func scan(
        _ field: EventField,
        from reader: inout JSONReader<EventError>,
        into fields: inout ScannedFields,
        readsKeys: Bool
    ) throws(EventError) {
        switch field {
        case .id where !readsKeys, .pubkey where !readsKeys:
            guard try reader.skipHex(count: 64) else { throw .wrong(field) }
        case .signature where !readsKeys:
            guard try reader.skipHex(count: 128) else { throw .wrong(field) }
        case .id:
            guard let id = try reader.hexString() else { throw .wrong(.id) }
            fields.id = id
        case .pubkey:
            guard let pubkey = try reader.hexString() else { throw .wrong(.pubkey) }
            fields.pubkey = pubkey
        case .createdAt:
            guard let seconds = reader.natural() else { throw .wrong(.createdAt) }
            fields.createdAt = seconds
        case .kind:
            guard let kind = reader.natural(), kind <= Int64(UInt16.max) else { throw .wrong(.kind) }
            fields.kind = UInt16(truncatingIfNeeded: kind)
        case .tags:
            fields.tags = try scanTags(&reader)
        case .content:
            guard reader.next == UInt8(ascii: "\"") else { throw .wrong(.content) }
            let content = try reader.string()
            fields.content = ScannedText(range: content.range, traits: content.traits)
        case .signature:
            guard let signature = try reader.signature() else { throw .wrong(.signature) }
            fields.signature = signature
        }
    }
}

extension EventScanner {
    /// Scans the array of tags and collects the keys in `p` tags.
    @inline(__always)
    mutating func scanTags(_ reader: inout JSONReader<EventError>) throws(EventError) -> ScannedText {
        let start = reader.position
        guard reader.take("[") else { throw .wrong(.tags) }
        var traits: JSONString.Traits = []
        var hasWhitespace = reader.skipWhitespace()
        if !reader.take("]") {
            while true {
                guard reader.take("[") else { throw .wrong(.tags) }
                try scanTag(&reader, &traits, &hasWhitespace)
                if reader.skipWhitespace() { hasWhitespace = true }
                if reader.take("]") { break }
                try reader.expect(",", .arrayEnd)
                if reader.skipWhitespace() { hasWhitespace = true }
            }
        }
        return ScannedText(
            range: Range(uncheckedBounds: (start, reader.position)),
            traits: traits,
            hasWhitespace: hasWhitespace
        )
    }

    /// Scans a tag from after its opening bracket to after its closing one.
    @inline(__always)
    private mutating func scanTag(
        _ reader: inout JSONReader<EventError>,
        _ traits: inout JSONString.Traits,
        _ hasWhitespace: inout Bool
    ) throws(EventError) {
        if reader.skipWhitespace() { hasWhitespace = true }
        // Nearly all tags with a key start this way.
        var isAwaitingKey = reader.takePlainP()
        var isName = !isAwaitingKey
        if isAwaitingKey, reader.skipWhitespace() { hasWhitespace = true }
        while true {
            if isAwaitingKey {
                isAwaitingKey = false
                try scanKey(&reader, &traits)
            } else {
                guard reader.next == UInt8(ascii: "\"") else { throw .wrong(.tags) }
                let string = try reader.string()
                traits.formUnion(string.traits)
                if isName { isAwaitingKey = isP(string, in: reader) }
                isName = false
            }
            if reader.skipWhitespace() { hasWhitespace = true }
            if reader.take("]") { return }
            try reader.expect(",", .arrayEnd)
            if reader.skipWhitespace() { hasWhitespace = true }
        }
    }

    /// Scans the first value of a `p` tag, which may be any string.
    @inline(__always)
    private mutating func scanKey(
        _ reader: inout JSONReader<EventError>,
        _ traits: inout JSONString.Traits
    ) throws(EventError) {
        if let key = reader.takePlainHex() {
            pValues.append(key)
            return
        }
        guard reader.next == UInt8(ascii: "\"") else { throw .wrong(.tags) }
        let string = try reader.string()
        traits.formUnion(string.traits)
        if string.traits.contains(.escaped), let key = reader.hex(string) { pValues.append(key) }
    }

    /// Whether a tag's name is `p`, with or without escapes.
    @inline(__always)
    private func isP(_ name: JSONString, in reader: JSONReader<EventError>) -> Bool {
        if name.traits.contains(.escaped) { return reader.says(name, "p") }
        return name.count == 1 && reader.byte(name.start) == UInt8(ascii: "p")
    }
}

/// A scanned event: the fixed fields are decoded, content and tags are ranges in its bytes.
///
/// Its id and signature are unverified until an ``EventVerifier`` checks them.
package struct ScannedEvent: Hashable, Sendable {
    package let id: EventID
    package let pubkey: PublicKey
    /// Seconds since 1970, according to the author.
    package let createdAt: Int64
    package let kind: Kind
    package let signature: Signature
    package let content: ScannedText
    package let tags: ScannedText

    /// Whether content and tags are already in the canonical form of NIP-01.
    package var isCanonical: Bool { content.isCanonical && tags.isCanonical }
}

/// The range of a part of a scanned event, and its spelling.
package struct ScannedText: Hashable, Sendable {
    /// Offsets in the scanned bytes. A content excludes its quotation marks; an array of tags includes its brackets.
    package let range: Range<Int>
    /// Whether it is in the canonical form of NIP-01: no whitespace between tags, no unnecessary escapes.
    package let isCanonical: Bool
    /// Whether it has control characters without an escape in NIP-01. Two canonical forms are in use for them.
    package let hasControlCharacters: Bool

    init(range: Range<Int>, traits: JSONString.Traits, hasWhitespace: Bool = false) {
        self.range = range
        self.isCanonical = !traits.contains(.recoded) && !hasWhitespace
        self.hasControlCharacters = traits.contains(.control)
    }
}

/// The fields of an event during a scan.
struct ScannedFields {
    /// The bits of the ``EventField``s found so far.
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

    /// Returns the kind. Throws if a field is missing.
    @inline(__always)
    func checkedKind() throws(EventError) -> Kind {
        guard seen == EventField.all else { throw .missing(firstMissing) }
        return Kind(kind)
    }

    private var firstMissing: EventField {
        EventField.allCases.first { seen & $0.rawValue == 0 } ?? .id
    }
}

extension JSONReader {
    /// Reads a string of 64 lowercase hexadecimal digits. Returns `nil` if the next value is not such a string, and then
    /// skips at most one string.
    @inline(__always)
    mutating func hexString() throws(Failure) -> Bytes32? {
        if let bytes = takePlainHex() { return bytes }
        return try escapedHex(count: 64)?.first
    }

    /// Reads a string of 128 lowercase hexadecimal digits.
    @inline(__always)
    mutating func signature() throws(Failure) -> Signature? {
        if position &+ 130 <= count, next == UInt8(ascii: "\""), byte(position &+ 129) == UInt8(ascii: "\""),
            let first = Bytes32(digits: base + (position &+ 1)),
            let second = Bytes32(digits: base + (position &+ 65))
        {
            position &+= 130
            return Signature(first: first, second: second)
        }
        return try escapedHex(count: 128)
    }

    /// Skips a string of 64 or 128 lowercase hexadecimal digits without decoding it. Returns false if the next value is
    /// not such a string, and skips at most a string then.
    @inline(__always)
    mutating func skipHex(count digits: Int) throws(Failure) -> Bool {
        if position &+ digits &+ 2 <= count, next == UInt8(ascii: "\""),
            byte(position &+ digits &+ 1) == UInt8(ascii: "\""), Hex.areDigits(base + (position &+ 1), count: digits)
        {
            position &+= digits &+ 2
            return true
        }
        return try escapedHex(count: digits) != nil
    }

    /// Does the same as ``hexString()`` for digits without escapes. Does not advance otherwise.
    @inline(__always)
    mutating func takePlainHex() -> Bytes32? {
        guard position &+ 66 <= count, next == UInt8(ascii: "\""), byte(position &+ 65) == UInt8(ascii: "\""),
            let bytes = Bytes32(digits: base + (position &+ 1))
        else { return nil }
        position &+= 66
        return bytes
    }

    /// Skips `"p",` if these exact bytes are next.
    @inline(__always)
    mutating func takePlainP() -> Bool {
        guard position &+ 8 <= count, word(position) & 0xffff_ffff == 0x2c22_7022 else { return false }
        position &+= 4
        return true
    }

    /// Reads digits with escapes: `"\u0061…"` equals `"a…"`. For 64 digits the second half of the result is empty.
    @inline(never)
    private mutating func escapedHex(count digits: Int) throws(Failure) -> Signature? {
        guard next == UInt8(ascii: "\"") else { return nil }
        let string = try string()
        return string.traits.contains(.escaped) ? hex(string, count: digits) : nil
    }

    /// Returns the value of a string of 64 digits, escaped or not; `nil` for any other string.
    func hex(_ string: JSONString) -> Bytes32? {
        hex(string, count: 64)?.first
    }

    private func hex(_ string: JSONString, count digits: Int) -> Signature? {
        // Escapes make a string up to six times as long; a longer one is not decoded.
        guard string.count >= digits, string.count <= 6 * digits else { return nil }
        return bytes(string).withUnsafeBytes { text in
            guard text.count == digits, let start = text.baseAddress, let first = Bytes32(digits: start) else {
                return nil
            }
            guard digits == 128 else { return Signature(first: first, second: Bytes32(words: (0, 0, 0, 0))) }
            return Bytes32(digits: start + 64).map { Signature(first: first, second: $0) }
        }
    }
}
