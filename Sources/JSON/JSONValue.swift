/// A JSON value (RFC 8259) as it was written: numbers keep their text, objects their order.
package enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)
}

/// A JSON object whose names are all different.
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

    /// The value of that name; nil when there is none or it is `null`, which many clients write for "not set".
    package subscript(name: String) -> JSONValue? {
        guard let value = members.first(where: { $0.name == name })?.value, value != .null else { return nil }
        return value
    }
}

extension JSONValue {
    /// How the reader treats two members of an object with the same name.
    package enum Duplicates {
        /// As an error. General decoders keep one of the two, and not all of them the same one, so a client and the
        /// router could understand different things.
        case refused
        /// As `JSON.parse` does: the last one counts. For JSON that the router only shows or searches.
        case lastCounts
    }

    /// Reads one JSON text (RFC 8259), nested at most 64 levels deep.
    ///
    /// An escaped surrogate without its pair becomes U+FFFD: `JSON.stringify` writes one for text that was cut within an
    /// emoji.
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

    /// Writes `\ufffd` over each escaped surrogate that is not one of a pair.
    private static func replaceLoneSurrogates(in text: inout [UInt8]) {
        /// The top six bits of the escape `\uXXXX` at `offset`, as in 0xD800; nil: another escape is there, or none.
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
