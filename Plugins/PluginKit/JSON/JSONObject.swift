import Glibc
import JSON

/// A validated JSON object, split into its members; values are decoded on access.
///
/// Parsing is strict: RFC 8259 only, UTF-8, no duplicate names, up to 64 levels in a value, and up to ``memberLimit``
/// members. Example: `try JSONObject(parsing: #"{"id":"a1","ok":true}"#)["id"]?.string` is `a1`.
public struct JSONObject: Sendable {
    /// The maximum number of members at the top level, because finding duplicates takes quadratic time.
    public static let memberLimit = 256

    private struct Slot {
        /// The key without its quotes.
        let key: Range<Int>
        /// The decoded key, if it is written with escapes.
        let unescapedKey: [UInt8]?
        let value: Range<Int>

        func moved(by distance: Int) -> Slot {
            Slot(
                key: key.lowerBound + distance..<key.upperBound + distance,
                unescapedKey: unescapedKey,
                value: value.lowerBound + distance..<value.upperBound + distance
            )
        }
    }

    private let bytes: [UInt8]
    private let slots: [Slot]

    public init() {
        bytes = []
        slots = []
    }

    /// Copies `text`. Throws a ``JSONError`` if it is not exactly one object (RFC 8259) in UTF-8.
    public init(parsing text: UnsafeRawBufferPointer) throws(JSONError) {
        try self.init(bytes: [UInt8](text))
    }

    public init(parsing text: String) throws(JSONError) {
        try self.init(bytes: [UInt8](text.utf8))
    }

    init(bytes: [UInt8]) throws(JSONError) {
        self.bytes = bytes
        slots = try bytes.withUnsafeBytes { JSONObject.split($0) }.get()
    }

    private init(bytes: [UInt8], slots: [Slot]) {
        self.bytes = bytes
        self.slots = slots
    }

    public var isEmpty: Bool { slots.isEmpty }

    public var count: Int { slots.count }

    /// Returns the member at an index from 0 to ``count`` - 1, in the order of the text.
    public func member(at index: Int) -> JSONMember {
        let slot = slots[index]
        return JSONMember(
            rawKey: bytes[slot.key.lowerBound - 1..<slot.key.upperBound + 1],
            value: JSONValue(raw: bytes[slot.value])
        )
    }

    /// The text between the braces.
    var inside: ArraySlice<UInt8> {
        guard let first = slots.first, let last = slots.last else { return [] }
        return bytes[first.key.lowerBound - 1..<last.value.upperBound]
    }

    /// The value of the member of that name.
    public subscript(name: StaticString) -> JSONValue? {
        firstIndex(of: JSONObject.bytes(name)).map { JSONValue(raw: bytes[slots[$0].value]) }
    }

    /// The value of the member whose name is known only at run time.
    public subscript(named name: String) -> JSONValue? {
        var name = name
        return name.withUTF8 { firstIndex(of: UnsafeRawBufferPointer($0)) }
            .map { JSONValue(raw: bytes[slots[$0].value]) }
    }

    /// Whether there is a member of that name.
    public func contains(_ name: StaticString) -> Bool { self[name] != nil }

    /// Whether there is a member of that name.
    public func contains(named name: String) -> Bool { self[named: name] != nil }

    /// Whether there is a member with the same name as `member`, even if the two are escaped differently.
    public func contains(nameOf member: JSONMember) -> Bool {
        guard !slots.isEmpty else { return false }
        if member.rawKey.contains(UInt8(ascii: "\\")) {
            return member.rawKey.unescaped.withUnsafeBytes { firstIndex(of: $0) != nil }
        }
        return member.rawKey.dropFirst().dropLast().withUnsafeBytes { firstIndex(of: $0) != nil }
    }

    /// Returns the object without the members of those names.
    public func removing(_ names: [StaticString]) -> JSONObject {
        let removed = Set(names.compactMap { name in firstIndex(of: JSONObject.bytes(name)) })
        guard !removed.isEmpty else { return self }
        var kept: [UInt8] = []
        kept.reserveCapacity(bytes.count)
        var keptSlots: [Slot] = []
        for (index, slot) in slots.enumerated() where !removed.contains(index) {
            if !keptSlots.isEmpty {
                kept.append(UInt8(ascii: ","))
            }
            let start = slot.key.lowerBound - 1
            let shift = kept.count - start
            kept.append(contentsOf: bytes[start..<slot.value.upperBound])
            keptSlots.append(slot.moved(by: shift))
        }
        return JSONObject(bytes: kept, slots: keptSlots)
    }

    private static func bytes(_ name: StaticString) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
    }

    private func firstIndex(of name: UnsafeRawBufferPointer) -> Int? {
        guard !slots.isEmpty else { return nil }
        return bytes.withUnsafeBytes { raw in slots.firstIndex { JSONObject.matches($0, name, in: raw) } }
    }

    private static func matches(
        _ slot: Slot,
        _ name: UnsafeRawBufferPointer,
        in bytes: UnsafeRawBufferPointer
    ) -> Bool {
        if let key = slot.unescapedKey {
            return key.elementsEqual(name)
        }
        guard slot.key.count == name.count else { return false }
        guard let left = bytes.baseAddress, let right = name.baseAddress, !name.isEmpty else { return true }
        return memcmp(left + slot.key.lowerBound, right, name.count) == 0
    }

    private static func split(_ bytes: UnsafeRawBufferPointer) -> Result<[Slot], JSONError> {
        Result { () throws(JSONError) in try checkedSlots(bytes) }
    }

    private static func checkedSlots(_ bytes: UnsafeRawBufferPointer) throws(JSONError) -> [Slot] {
        guard !bytes.isEmpty else { throw JSONError(JSONSyntaxError(expectation: .object, offset: 0)) }
        var slots: [Slot] = []
        var reader = try JSONReader<JSONError>(bytes)
        reader.skipWhitespace()
        try reader.expect("{", .object)
        reader.skipWhitespace()
        if !reader.take("}") {
            slots.reserveCapacity(8)
            repeat {
                let key = try reader.key()
                let start = reader.position
                try reader.skipValue()
                let slot = Slot(
                    key: key.range,
                    unescapedKey: key.traits.contains(.escaped) ? reader.bytes(key) : nil,
                    value: start..<reader.position
                )
                reader.skipWhitespace()
                guard slots.count < memberLimit else {
                    throw JSONError(expected: "at most \(memberLimit) members", position: reader.position)
                }
                guard !slots.contains(where: { isSameName($0, slot, in: bytes) }) else {
                    throw reader.fault(.distinctNames)
                }
                slots.append(slot)
            } while reader.take(",")
            try reader.expect("}", .objectEnd)
        }
        try reader.end()
        return slots
    }

    private static func isSameName(_ slot: Slot, _ other: Slot, in bytes: UnsafeRawBufferPointer) -> Bool {
        if let key = other.unescapedKey {
            return key.withUnsafeBytes { matches(slot, $0, in: bytes) }
        }
        return matches(slot, UnsafeRawBufferPointer(rebasing: bytes[other.key]), in: bytes)
    }
}
