import PluginKit

/// Writes a message's JSON and counts what Google counts: the bytes of names and values in `data` and in the
/// notification. Texts that may be shortened count as JSON, which is at least as much.
struct MessageWriter {
    var json = JSONWriter()
    private(set) var byteCount = 0

    /// Writes a text, unless it is empty.
    mutating func text(_ name: StaticString, _ text: BorrowedText) {
        guard !text.isEmpty else { return }
        json.key(name)
        json.string(text)
        byteCount += name.utf8CodeUnitCount + text.count
    }

    /// Writes a text, unless it is empty.
    mutating func text(_ name: StaticString, _ text: String) {
        guard !text.isEmpty else { return }
        json.key(name)
        json.string(text)
        byteCount += name.utf8CodeUnitCount + text.utf8.count
    }

    /// Writes a text cut to `limit` bytes of JSON, unless that is empty. Returns how many bytes of JSON were written.
    mutating func text(_ name: StaticString, _ text: BorrowedText, limit: Int?) -> Int {
        let length = json.member(name, text, limit: limit)
        if length > 0 {
            byteCount += name.utf8CodeUnitCount + length
        }
        return length
    }

    /// Writes a JSON text cut to `limit` bytes, unless that is empty. Returns how many bytes were written.
    mutating func text(_ name: StaticString, _ value: JSONValue, limit: Int?) -> Int {
        let length = json.member(name, value, limit: limit)
        if length > 0 {
            byteCount += name.utf8CodeUnitCount + length
        }
        return length
    }

    /// Writes a member of `data`, under `name` if that is given. All values of `data` are texts: numbers, objects and
    /// lists become their JSON as text, and null is omitted.
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

    /// Writes the members of a notification unchanged.
    mutating func members(of notification: JSONObject) {
        json.members(of: notification)
        for index in 0..<notification.count {
            let member = notification.member(at: index)
            byteCount += member.rawKey.count + member.value.raw.count
        }
    }
}

extension JSONValue {
    /// The length of a text in bytes of UTF-8.
    fileprivate var decodedTextLength: Int {
        raw.contains(UInt8(ascii: "\\")) ? string?.utf8.count ?? 0 : raw.count - 2
    }
}
