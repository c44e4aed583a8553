/// Reads one JSON text (RFC 8259) strictly.
///
/// General decoders keep one of two members with the same name, and not all of them the same one; what a client wrote
/// and what a router took would then differ. This one refuses them, and takes nesting only to a small depth.
struct JSONReader {
    static let depthLimit = 16

    private let bytes: [UInt8]
    private var position = 0

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    static func read(_ text: String) throws(JSONReaderError) -> JSONValue {
        var reader = JSONReader(Array(text.utf8))
        reader.skipSpace()
        let value = try reader.value(depth: 0)
        reader.skipSpace()
        guard reader.position == reader.bytes.count else { throw reader.expected("the end of the text") }
        return value
    }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private func expected(_ what: String) -> JSONReaderError {
        JSONReaderError(offset: position, expected: what)
    }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    private mutating func value(depth: Int) throws(JSONReaderError) -> JSONValue {
        guard depth < Self.depthLimit else { throw expected("at most \(Self.depthLimit) levels of nesting") }
        switch next {
        case UInt8(ascii: "{"): return .object(try object(depth: depth))
        case UInt8(ascii: "["): return .array(try array(depth: depth))
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try literal("true", .bool(true))
        case UInt8(ascii: "f"): return try literal("false", .bool(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        default: return .number(try number())
        }
    }

    private mutating func literal(_ word: StaticString, _ value: JSONValue) throws(JSONReaderError) -> JSONValue {
        let length = word.utf8CodeUnitCount
        let matches = word.withUTF8Buffer { bytes[position...].prefix(length).elementsEqual($0) }
        guard matches else { throw expected("a JSON value") }
        position += length
        return value
    }

    private mutating func object(depth: Int) throws(JSONReaderError) -> JSONObject {
        position += 1
        var members: [JSONObject.Member] = []
        var names: Set<String> = []
        skipSpace()
        if take(UInt8(ascii: "}")) { return JSONObject(members: members) }
        while true {
            skipSpace()
            guard next == UInt8(ascii: "\"") else { throw expected("a field name in quotes") }
            let start = position
            let name = try string()
            guard names.insert(name).inserted else {
                throw JSONReaderError(offset: start, expected: "every field of an object only once")
            }
            skipSpace()
            guard take(UInt8(ascii: ":")) else { throw expected("a colon") }
            skipSpace()
            members.append(JSONObject.Member(name: name, value: try value(depth: depth + 1)))
            skipSpace()
            if take(UInt8(ascii: ",")) { continue }
            guard take(UInt8(ascii: "}")) else { throw expected("a comma or a closing brace") }
            return JSONObject(members: members)
        }
    }

    private mutating func array(depth: Int) throws(JSONReaderError) -> [JSONValue] {
        position += 1
        var values: [JSONValue] = []
        skipSpace()
        if take(UInt8(ascii: "]")) { return values }
        while true {
            skipSpace()
            values.append(try value(depth: depth + 1))
            skipSpace()
            if take(UInt8(ascii: ",")) { continue }
            guard take(UInt8(ascii: "]")) else { throw expected("a comma or a closing bracket") }
            return values
        }
    }

    private mutating func number() throws(JSONReaderError) -> String {
        let start = position
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) { try digits("a JSON value") }
        if take(UInt8(ascii: ".")) { try digits("a digit") }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            _ = take(UInt8(ascii: "+")) || take(UInt8(ascii: "-"))
            try digits("a digit")
        }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private mutating func digits(_ what: String) throws(JSONReaderError) {
        let start = position
        while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
        guard position > start else { throw expected(what) }
    }

    private mutating func string() throws(JSONReaderError) -> String {
        position += 1
        var text: [UInt8] = []
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"):
                try escape(into: &text)
            case 0..<0x20:
                throw expected("control characters to be escaped")
            default:
                text.append(byte)
                position += 1
            }
        }
        throw expected("a closing quote")
    }

    private mutating func escape(into text: inout [UInt8]) throws(JSONReaderError) {
        position += 1
        guard let byte = next else { throw expected("an escape") }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text.append(contentsOf: Array(String(try escapedScalar()).utf8))
        default:
            position -= 1
            throw expected("a JSON escape")
        }
    }

    /// The scalar of a `\u` escape, or of two of them that make a surrogate pair; half a pair is refused.
    private mutating func escapedScalar() throws(JSONReaderError) -> Unicode.Scalar {
        let first = try fourHexDigits()
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard (0xD800..<0xDC00).contains(first), take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else {
            throw expected("a whole surrogate pair")
        }
        let second = try fourHexDigits()
        guard (0xDC00..<0xE000).contains(second),
            let scalar = Unicode.Scalar(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))
        else { throw expected("a whole surrogate pair") }
        return scalar
    }

    private mutating func fourHexDigits() throws(JSONReaderError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 else {
                throw expected("four hexadecimal digits")
            }
            value = value << 4 | UInt32(digit)
            position += 1
        }
        return value
    }
}
