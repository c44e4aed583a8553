import Cipher
import JSON

/// Reads events (NIP-01) without building them, to find out which keys they concern.
///
/// Checks every byte: the grammar of JSON, UTF-8, and what NIP-01 demands of each field. Stricter than most JSON
/// parsers where they disagree about what an event says: a field must not be repeated, `kind` and `created_at` are
/// written as digits only, surrogates come in pairs. Unknown fields may be there, nested at most 64 levels deep.
///
/// Allocates nothing once its buffer of `p` values has grown. Not shared between threads: one for each worker.
package struct EventScanner {
    /// The values of the `p` tags of the event scanned last, in their order, repetitions included. Values that are not
    /// 64 lowercase hexadecimal digits are left out. For a reaction that has none, the author in its last `a` tag:
    /// NIP-25 has `p` as SHOULD.
    package private(set) var pValues: [Bytes32] = []

    /// A buffer that one huge event enlarged is not kept.
    private static let largestBuffer = 1 << 16

    package init() {
        pValues.reserveCapacity(64)
    }

    /// Scans `json`, which holds one event and at most whitespace around it.
    package mutating func scan(_ json: UnsafeRawBufferPointer) throws(EventError) -> ScannedEvent {
        try fields(of: json, readsKeys: true).event()
    }

    /// The id that an event gives, also one that ``scan(_:)`` refuses, as far as its text can be read: an answer to it
    /// must name it.
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

    /// Says of what kind the event is, and gathers the ``pValues``. Checks all that ``scan(_:)`` checks, but leaves id,
    /// author and signature as digits, which is a quarter of the work.
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

    /// The author that the last `a` tag with a usable address names. `tags` were scanned before.
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
    /// Scans the array of tags and gathers what the `p` tags name.
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
        // Nearly all that name a key begin so.
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

    /// Scans the first value of a `p` tag, which may be anything that is a string.
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

    /// Whether a tag's name says `p`, which it may do in several ways.
    @inline(__always)
    private func isP(_ name: JSONString, in reader: JSONReader<EventError>) -> Bool {
        if name.traits.contains(.escaped) { return reader.says(name, "p") }
        return name.count == 1 && reader.byte(name.start) == UInt8(ascii: "p")
    }
}

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

extension JSONReader {
    /// Reads a string of 64 lowercase hexadecimal digits. `nil`, and no further than that, if something else stands
    /// there.
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

    /// Goes past a string of 64 or 128 lowercase hexadecimal digits without reading what they say. False, and no
    /// further than that, if something else stands there.
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

    /// The same as ``hexString()`` for digits without escapes; leaves everything as it is if there is anything else.
    @inline(__always)
    mutating func takePlainHex() -> Bytes32? {
        guard position &+ 66 <= count, next == UInt8(ascii: "\""), byte(position &+ 65) == UInt8(ascii: "\""),
            let bytes = Bytes32(digits: base + (position &+ 1))
        else { return nil }
        position &+= 66
        return bytes
    }

    /// Goes past `"p",` if that is next, just so.
    @inline(__always)
    mutating func takePlainP() -> Bool {
        guard position &+ 8 <= count, word(position) & 0xffff_ffff == 0x2c22_7022 else { return false }
        position &+= 4
        return true
    }

    /// `"\u0061…"` says the same as `"a…"`. The second half of the answer is empty for 64 digits.
    @inline(never)
    private mutating func escapedHex(count digits: Int) throws(Failure) -> Signature? {
        guard next == UInt8(ascii: "\"") else { return nil }
        let string = try string()
        return string.traits.contains(.escaped) ? hex(string, count: digits) : nil
    }

    /// What a string of 64 digits says, escaped or not; `nil` if it says something else.
    func hex(_ string: JSONString) -> Bytes32? {
        hex(string, count: 64)?.first
    }

    private func hex(_ string: JSONString, count digits: Int) -> Signature? {
        // Escapes make a string six times as long at most; what is longer cannot be worth decoding.
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
