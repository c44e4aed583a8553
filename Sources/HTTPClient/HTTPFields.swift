import Glibc

/// The header fields of a message in one piece of memory: a table of their ends, then names and values back to back.
///
/// A collection of ``HTTPField`` for callers that need strings; ``withBytes(_:)`` makes none. Fields are checked once,
/// when they are appended: ``isWellFormed`` costs nothing.
package struct HTTPFields: Sendable {
    /// The table, texts up to `end`, and unused capacity.
    private var memory: [UInt8] = []
    private var room: UInt32 = 0
    private var used: UInt32 = 0
    /// The size of names and values, in bytes.
    private var end: UInt32 = 0

    /// Whether all names are tokens in lower case and no value holds a control character (RFC 9110, sections 5.1 and
    /// 5.5).
    package private(set) var isWellFormed = true
    /// Whether names and values are all ASCII.
    package private(set) var isASCII = true

    package init() {}

    /// An empty collection with memory for `fields` fields and `bytes` of names and values.
    package init(reservingFields fields: Int, bytes: Int) {
        reserve(fields: fields, bytes: bytes)
    }

    package var count: Int { Int(used) }

    /// The bytes of all names and values.
    package var byteCount: Int { Int(end) }

    package mutating func append(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) {
        let added = name.count + value.count
        if used == room || memory.count - tableSize - byteCount < added { grow(by: added) }
        let flaws = FieldForm.flaws(ofName: name).union(FieldForm.flaws(ofValue: value))
        isWellFormed = isWellFormed && !flaws.contains(.malformed)
        isASCII = isASCII && !flaws.contains(.notASCII)
        let (entry, nameStart) = (count * 8, tableSize + byteCount)
        let nameEnd = end + UInt32(truncatingIfNeeded: name.count)
        end += UInt32(truncatingIfNeeded: added)
        used += 1
        memory.withUnsafeMutableBytes { memory in
            memory.storeBytes(of: nameEnd, toByteOffset: entry, as: UInt32.self)
            memory.storeBytes(of: end, toByteOffset: entry + 4, as: UInt32.self)
            let texts = UnsafeMutableRawBufferPointer(rebasing: memory[nameStart..<nameStart + added])
            texts.copyMemory(from: UnsafeRawBufferPointer(name))
            UnsafeMutableRawBufferPointer(rebasing: texts[name.count...]).copyMemory(
                from: UnsafeRawBufferPointer(value)
            )
        }
    }

    package mutating func append(_ name: String, _ value: String) {
        var (name, value) = (name, value)
        name.withUTF8 { name in
            value.withUTF8 { append(name: name, value: $0) }
        }
    }

    package mutating func removeAll() {
        self = HTTPFields()
    }

    /// Passes names and values as bytes to `body`, valid only during the call.
    package func withBytes<Result, Failure: Error>(
        _ body: (Bytes) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try memory.withUnsafeBufferPointer { memory throws(Failure) in
            try body(Bytes(memory: memory, room: Int(room), count: count))
        }
    }

    private var tableSize: Int { Int(room) * 8 }

    private mutating func grow(by added: Int) {
        let isTableFull = used == room
        reserve(
            fields: isTableFull ? Swift.max(8, 2 * count) : Int(room),
            bytes: Swift.max(256, 2 * (byteCount + added))
        )
    }

    private mutating func reserve(fields: Int, bytes: Int) {
        let table = fields * 8
        let size = table + Swift.max(bytes, byteCount)
        let larger = [UInt8](unsafeUninitializedCapacity: size) { larger, initialized in
            larger.initialize(repeating: 0)
            initialized = size
            memory.withUnsafeBytes { memory in
                let to = UnsafeMutableRawBufferPointer(larger)
                to.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<(count * 8)]))
                UnsafeMutableRawBufferPointer(rebasing: to[table...])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[tableSize..<tableSize + byteCount]))
            }
        }
        memory = larger
        room = UInt32(truncatingIfNeeded: fields)
    }
}

extension HTTPFields: Hashable {
    package static func == (one: HTTPFields, other: HTTPFields) -> Bool {
        one.used == other.used && one.table.elementsEqual(other.table) && one.texts.elementsEqual(other.texts)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(used)
        for byte in table { hasher.combine(byte) }
        for byte in texts { hasher.combine(byte) }
    }

    private var table: ArraySlice<UInt8> { memory[..<(count * 8)] }
    private var texts: ArraySlice<UInt8> { memory[tableSize..<tableSize + byteCount] }
}

extension HTTPFields {
    /// Names and values as bytes; borrowed from ``HTTPFields/withBytes(_:)``.
    package struct Bytes {
        package let count: Int
        private let table: UnsafeRawPointer?
        private let texts: UnsafePointer<UInt8>?

        init(memory: UnsafeBufferPointer<UInt8>, room: Int, count: Int) {
            self.count = count
            table = UnsafeRawPointer(memory.baseAddress)
            texts = memory.baseAddress.map { $0 + room * 8 }
        }

        package subscript(
            index: Int
        ) -> (name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) {
            precondition((0..<count).contains(index), "no such field")
            guard let table, let texts else { preconditionFailure("fields without memory") }
            let start = index == 0 ? 0 : end(index * 8 - 4, table)
            let nameEnd = end(index * 8, table)
            let valueEnd = end(index * 8 + 4, table)
            return (
                UnsafeBufferPointer(start: texts + start, count: nameEnd - start),
                UnsafeBufferPointer(start: texts + nameEnd, count: valueEnd - nameEnd)
            )
        }

        private func end(_ offset: Int, _ table: UnsafeRawPointer) -> Int {
            Int(table.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        }
    }
}

extension HTTPFields: RandomAccessCollection, ExpressibleByArrayLiteral {
    package init(_ fields: some Sequence<HTTPField>) {
        for field in fields { append(field) }
    }

    package init(arrayLiteral fields: HTTPField...) {
        self.init(fields)
    }

    package var startIndex: Int { 0 }
    package var endIndex: Int { count }

    package subscript(position: Int) -> HTTPField {
        withBytes { bytes in
            let (name, value) = bytes[position]
            return HTTPField(String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self))
        }
    }

    package mutating func append(_ field: HTTPField) {
        append(field.name, field.value)
    }
}

/// A header field of a request or a response.
package struct HTTPField: Sendable, Hashable {
    /// In lower case.
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// Checks the head of a message (RFC 9110, sections 5.1, 5.5 and 5.6.2).
enum FieldForm {
    struct Flaws: OptionSet {
        let rawValue: UInt8

        /// It would change a message's structure.
        static let malformed = Flaws(rawValue: 1)
        static let notASCII = Flaws(rawValue: 0x80)
    }

    /// A name is a token in lower case.
    static func flaws(ofName name: UnsafeBufferPointer<UInt8>) -> Flaws {
        guard !name.isEmpty else { return .malformed }
        var flaws: Flaws = []
        for byte in name where byte &- 0x61 >= 26 && !isDigitOrMark(byte) {
            flaws.formUnion(byte >= 0x80 ? [.malformed, .notASCII] : .malformed)
        }
        return flaws
    }

    /// A value may contain no control character except the tab. Without branches or an early exit, so that the compiler
    /// can vectorize it.
    static func flaws(ofValue value: UnsafeBufferPointer<UInt8>) -> Flaws {
        var flaws: UInt8 = 0
        for byte in value {
            flaws |= (byte < 0x20 ? 1 : 0) & (byte == 0x09 ? 0 : 1)
            flaws |= byte == 0x7f ? 1 : 0
            flaws |= byte & 0x80
        }
        return Flaws(rawValue: flaws)
    }

    /// A method is a token in any case.
    static func isMethod(_ method: String) -> Bool {
        !method.isEmpty && method.utf8.allSatisfy { ($0 | 0x20) &- 0x61 < 26 || isDigitOrMark($0) }
    }

    private static func isDigitOrMark(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"),
            UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
            true
        default: false
        }
    }
}

/// Compares bytes in one call, which is faster than comparing collections.
extension UnsafeBufferPointer<UInt8> {
    func equals(_ text: StaticString) -> Bool {
        equals(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    func equals(_ other: UnsafeBufferPointer<UInt8>) -> Bool {
        guard count == other.count else { return false }
        guard let mine = baseAddress, let theirs = other.baseAddress else { return true }
        return memcmp(mine, theirs, count) == 0
    }

    func equals(_ other: [UInt8]) -> Bool { other.withUnsafeBufferPointer { equals($0) } }
}
