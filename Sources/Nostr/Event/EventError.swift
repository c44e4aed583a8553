import JSON

/// Why something is not a valid event (NIP-01). The description can follow `invalid: ` in an answer to its sender; it
/// quotes nothing of the event.
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
        case .repeated(let field): "\(field.name) must be there only once"
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

/// The fields every event has (NIP-01), one bit each.
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

    /// What NIP-01 demands of the value.
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
    /// The field that a key names; `nil` for an unknown one.
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
