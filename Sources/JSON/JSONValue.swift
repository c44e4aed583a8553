/// A JSON value (RFC 8259) as it was written: numbers keep their text, objects their order.
package enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)
}

/// A JSON object whose names are all different: reading refuses any other.
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
    /// Reads one JSON text (RFC 8259) strictly, nested at most 64 levels deep.
    ///
    /// General decoders keep one of two members with the same name, and not all of them the same one; what a client
    /// wrote and what we took would then differ. This one refuses them.
    package init(parsing text: String) throws(JSONSyntaxError) {
        self = try Array(text.utf8).withUnsafeBufferPointer { bytes throws(JSONSyntaxError) in
            var reader = try JSONReader<JSONSyntaxError>(UnsafeRawBufferPointer(bytes))
            let value = try reader.value(depth: 0)
            try reader.end()
            return value
        }
    }
}

extension JSONReader {
    private static var depthLimit: Int { 64 }

    fileprivate mutating func value(depth: Int) throws(Failure) -> JSONValue {
        skipWhitespace()
        switch next {
        case UInt8(ascii: "{"): return .object(try object(depth: depth))
        case UInt8(ascii: "["): return .array(try array(depth: depth))
        case UInt8(ascii: "\""): return .string(text(try string()))
        default: return try scalar()
        }
    }

    private mutating func object(depth: Int) throws(Failure) -> JSONObject {
        guard depth < Self.depthLimit else { throw fault(.noDeeperNesting) }
        try expect("{", .object)
        var members: [JSONObject.Member] = []
        var names: Set<String> = []
        skipWhitespace()
        if take("}") { return JSONObject(members: members) }
        while true {
            skipWhitespace()
            let start = position
            let name = text(try key())
            guard names.insert(name).inserted else {
                position = start
                throw fault(.distinctNames)
            }
            members.append(JSONObject.Member(name: name, value: try value(depth: depth + 1)))
            skipWhitespace()
            if take(",") { continue }
            try expect("}", .objectEnd)
            return JSONObject(members: members)
        }
    }

    private mutating func array(depth: Int) throws(Failure) -> [JSONValue] {
        guard depth < Self.depthLimit else { throw fault(.noDeeperNesting) }
        try expect("[", .array)
        var values: [JSONValue] = []
        skipWhitespace()
        if take("]") { return values }
        while true {
            values.append(try value(depth: depth + 1))
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
