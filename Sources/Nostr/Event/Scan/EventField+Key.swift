extension EventField {
    /// The field that a key names; `nil` for an unknown one.
    @inline(__always)
    init?(_ key: JSONString, in reader: JSONReader<EventError>) {
        if key.traits.contains(.escaped) {
            self.init(escaped: key, in: reader)
        } else if key.end &+ 8 <= reader.count {
            self.init(reader.word(key.start), length: key.count, in: reader, at: key.start)
        } else {
            self.init(slowly: key, in: reader)
        }
    }

    /// Looks at the eight bytes from the key's start on, of which the first `length` are the key.
    @inline(__always)
    private init?(_ word: UInt64, length: Int, in reader: JSONReader<EventError>, at start: Int) {
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
    private init?(slowly key: JSONString, in reader: JSONReader<EventError>) {
        self.init(name: UnsafeRawBufferPointer(start: reader.base + key.start, count: key.count))
    }

    @inline(never)
    private init?(escaped key: JSONString, in reader: JSONReader<EventError>) {
        let field = reader.bytes(key).withUnsafeBytes { EventField(name: $0) }
        guard let field else { return nil }
        self = field
    }

    private init?(name: UnsafeRawBufferPointer) {
        guard let field = Self.allCases.first(where: { $0.name.utf8.elementsEqual(name) }) else { return nil }
        self = field
    }
}
