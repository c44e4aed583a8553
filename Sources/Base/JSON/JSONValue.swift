/// A JSON value (RFC 8259) that keeps the text of numbers and the order of objects.
package enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)
}

extension JSONValue {
    /// Whether it is an object or an array.
    package var isContainer: Bool {
        switch self {
        case .array, .object: true
        case .null, .bool, .number, .string: false
        }
    }

    /// The value for people: each member and element on its own line, indented by two spaces per level, in order.
    package var prettyPrinted: String {
        var text = JSONText()
        append(to: &text, indentation: 0)
        return String(decoding: text.bytes, as: UTF8.self)
    }

    private func append(to text: inout JSONText, indentation: Int) {
        switch self {
        case .null: text.append("null")
        case .bool(let flag): text.append(flag ? "true" : "false")
        case .number(let digits): text.bytes += digits.utf8
        case .string(let string): text.appendQuoted(string)
        case .array(let elements):
            text.append("[")
            for (index, element) in elements.enumerated() {
                Self.breakLine(in: &text, indentation + 1, isFirst: index == 0)
                element.append(to: &text, indentation: indentation + 1)
            }
            if !elements.isEmpty { Self.breakLine(in: &text, indentation, isFirst: true) }
            text.append("]")
        case .object(let object):
            text.append("{")
            for (index, member) in object.members.enumerated() {
                Self.breakLine(in: &text, indentation + 1, isFirst: index == 0)
                text.appendQuoted(member.name)
                text.append(": ")
                member.value.append(to: &text, indentation: indentation + 1)
            }
            if !object.members.isEmpty { Self.breakLine(in: &text, indentation, isFirst: true) }
            text.append("}")
        }
    }

    private static func breakLine(in text: inout JSONText, _ indentation: Int, isFirst: Bool) {
        text.append(isFirst ? "\n" : ",\n")
        text.bytes += repeatElement(UInt8(ascii: " "), count: 2 * indentation)
    }
}

/// Constructors for documents that the router writes itself, such as JSON Schemas.
extension JSONValue {
    package static func number(_ number: Int) -> JSONValue { .number(String(number)) }

    /// Returns a finite number, without a fraction if it has none.
    package static func number(_ number: Double) -> JSONValue {
        .number(Int64(exactly: number).map { String($0) } ?? String(number))
    }

    package static func texts(_ texts: [String]) -> JSONValue { .array(texts.map(JSONValue.string)) }

    /// Returns an object of members in this order. Their names must be unique.
    package static func members(_ members: [(key: String, value: JSONValue)]) -> JSONValue {
        .object(JSONObject(members: members.map { JSONObject.Member(name: $0.key, value: $0.value) }))
    }

    /// The members of an object; empty for any other value.
    package var members: [(key: String, value: JSONValue)] {
        guard case .object(let object) = self else { return [] }
        return object.members.map { ($0.name, $0.value) }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral {
    package init(stringLiteral text: String) { self = .string(text) }
    package init(integerLiteral number: Int) { self = .number(number) }
    package init(booleanLiteral flag: Bool) { self = .bool(flag) }
}

extension JSONValue: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    package init(dictionaryLiteral members: (String, JSONValue)...) {
        self = .members(members.map { (key: $0.0, value: $0.1) })
    }
}

/// A JSON object with unique names.
package struct JSONObject: Hashable, Sendable {
    package struct Member: Hashable, Sendable {
        package var name: String
        package var value: JSONValue

        package init(name: String, value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    package var members: [Member]

    package init(members: [Member]) { self.members = members }

    /// Returns the value of that name; nil if it is missing or `null`, which many clients write for "not set".
    package subscript(name: String) -> JSONValue? {
        guard let value = members.first(where: { $0.name == name })?.value, value != .null else { return nil }
        return value
    }
}

extension JSONValue {
    /// The treatment of two members of an object with the same name.
    package enum Duplicates {
        /// An error. Decoders keep different ones of the two, so a client and the router could read different values.
        case refused
        /// The last one counts, as in `JSON.parse`. For JSON that the router only shows or searches.
        case lastCounts
    }

    /// Reads one JSON text (RFC 8259), nested up to 64 levels deep.
    ///
    /// An escaped surrogate without its pair becomes U+FFFD: `JSON.stringify` writes one for text that was cut within
    /// an emoji.
    package init(parsing text: String, duplicates: Duplicates = .refused) throws(JSONSyntaxError) {
        var bytes = Array(text.utf8)
        Self.replaceLoneSurrogates(in: &bytes)
        self = try bytes.withUnsafeBufferPointer { bytes throws(JSONSyntaxError) in
            var reader = try JSONReader<JSONSyntaxError>(UnsafeRawBufferPointer(bytes))
            let value = try reader.value(depth: 0, duplicates)
            try reader.end()
            return value
        }
    }

    /// Replaces each unpaired escaped surrogate with `\ufffd`.
    private static func replaceLoneSurrogates(in text: inout [UInt8]) {
        /// Returns the top six bits of the escape `\uXXXX` at `offset`, such as 0xD800; nil: there is no such escape.
        func top(at offset: Int) -> UInt32? {
            guard offset + 6 <= text.count, text[offset] == UInt8(ascii: "\\"), text[offset + 1] == UInt8(ascii: "u"),
                let unit = UInt32(String(decoding: text[(offset + 2)..<(offset + 6)], as: UTF8.self), radix: 16)
            else { return nil }
            return unit & 0xFC00
        }
        var at = 0
        while let backslash = text[at...].firstIndex(of: UInt8(ascii: "\\")) {
            let unit = top(at: backslash)
            if unit == 0xD800, top(at: backslash + 6) == 0xDC00 {
                at = backslash + 12
            } else if unit == 0xD800 || unit == 0xDC00 {
                text.replaceSubrange((backslash + 2)..<(backslash + 6), with: "fffd".utf8)
                at = backslash + 6
            } else {
                at = min(backslash + 2, text.count)
            }
        }
    }
}

extension JSONReader {
    private static var depthLimit: Int { 64 }

    fileprivate mutating func value(depth: Int, _ duplicates: JSONValue.Duplicates) throws(Failure) -> JSONValue {
        skipWhitespace()
        switch next {
        case UInt8(ascii: "{"): return .object(try object(depth: depth, duplicates))
        case UInt8(ascii: "["): return .array(try array(depth: depth, duplicates))
        case UInt8(ascii: "\""): return .string(text(try string()))
        default: return try scalar()
        }
    }

    private mutating func object(depth: Int, _ duplicates: JSONValue.Duplicates) throws(Failure) -> JSONObject {
        guard depth < Self.depthLimit else { throw fault(.noDeeperNesting) }
        try expect("{", .object)
        var members: [JSONObject.Member] = []
        var places: [String: Int] = [:]
        skipWhitespace()
        if take("}") { return JSONObject(members: members) }
        while true {
            skipWhitespace()
            let start = position
            let name = text(try key())
            let earlier = places[name]
            if earlier != nil, duplicates == .refused {
                position = start
                throw fault(.distinctNames)
            }
            let value = try value(depth: depth + 1, duplicates)
            if let earlier {
                members[earlier].value = value
            } else {
                places[name] = members.count
                members.append(JSONObject.Member(name: name, value: value))
            }
            skipWhitespace()
            if take(",") { continue }
            try expect("}", .objectEnd)
            return JSONObject(members: members)
        }
    }

    private mutating func array(depth: Int, _ duplicates: JSONValue.Duplicates) throws(Failure) -> [JSONValue] {
        guard depth < Self.depthLimit else { throw fault(.noDeeperNesting) }
        try expect("[", .array)
        var values: [JSONValue] = []
        skipWhitespace()
        if take("]") { return values }
        while true {
            values.append(try value(depth: depth + 1, duplicates))
            skipWhitespace()
            if take(",") { continue }
            try expect("]", .arrayEnd)
            return values
        }
    }

    private mutating func scalar() throws(Failure) -> JSONValue {
        let start = position
        try skipValue()
        switch byte(start) {
        case UInt8(ascii: "t"): return .bool(true)
        case UInt8(ascii: "f"): return .bool(false)
        case UInt8(ascii: "n"): return .null
        default:
            let digits = UnsafeRawBufferPointer(start: base + start, count: position - start)
            return .number(String(decoding: digits, as: UTF8.self))
        }
    }
}
