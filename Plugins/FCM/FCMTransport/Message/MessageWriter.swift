import PluginKit

/// Writes a message's JSON and counts what Google counts: the bytes of the names and values in `data` and in what is
/// shown. Texts that may be shortened count as JSON, which is no less.
struct MessageWriter {
    var json = JSONWriter()
    private(set) var byteCount = 0

    /// A text, unless it is empty.
    mutating func text(_ name: StaticString, _ text: BorrowedText) {
        guard !text.isEmpty else { return }
        json.key(name)
        json.string(text)
        byteCount += name.utf8CodeUnitCount + text.count
    }

    /// A text, unless it is empty.
    mutating func text(_ name: StaticString, _ text: String) {
        guard !text.isEmpty else { return }
        json.key(name)
        json.string(text)
        byteCount += name.utf8CodeUnitCount + text.utf8.count
    }

    /// A text of at most `limit` bytes of JSON; left out when it is empty or cut to nothing. Returns how many bytes of JSON
    /// it became.
    mutating func text(_ name: StaticString, _ text: BorrowedText, limit: Int?) -> Int {
        let length = json.member(name, text, limit: limit)
        if length > 0 {
            byteCount += name.utf8CodeUnitCount + length
        }
        return length
    }

    /// The same with a text that is JSON already.
    mutating func text(_ name: StaticString, _ value: JSONValue, limit: Int?) -> Int {
        let length = json.member(name, value, limit: limit)
        if length > 0 {
            byteCount += name.utf8CodeUnitCount + length
        }
        return length
    }

    /// A member of `data`, where all values are texts: numbers, objects and lists become the text of their JSON, and null
    /// becomes nothing. `name` is what it is called instead.
    mutating func data(_ member: JSONMember, as name: String? = nil) {
        guard !member.value.isNull else { return }
        if let name {
            json.key(escaping: name)
            byteCount += name.utf8.count
        } else {
            json.key(of: member)
            byteCount += member.rawKey.count - 2
        }
        if member.value.isString {
            json.value(member.value)
            byteCount += member.value.decodedTextLength
        } else {
            json.string(String(decoding: member.value.raw, as: UTF8.self))
            byteCount += member.value.raw.count
        }
    }

    /// The members of a notification, as they stand.
    mutating func members(of notification: JSONObject) {
        json.members(of: notification)
        for index in 0..<notification.count {
            let member = notification.member(at: index)
            byteCount += member.rawKey.count + member.value.raw.count
        }
    }
}

extension JSONValue {
    /// How many bytes a text has, in UTF-8.
    fileprivate var decodedTextLength: Int {
        raw.contains(UInt8(ascii: "\\")) ? string?.utf8.count ?? 0 : raw.count - 2
    }
}
