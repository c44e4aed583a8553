import JSON
import Nostr

/// An event as its JSON tree describes it, read without the scanner.
struct IndependentEvent {
    let content: String
    let tags: [[String]]
    let createdAt: Int64

    /// Nil where NIP-01 would not call it an event.
    init?(_ value: JSONValue) {
        guard case .object(let object) = value,
            case .string(let content)? = object["content"], case .array(let rows)? = object["tags"],
            let createdAt = Self.natural(object["created_at"]), let kind = Self.natural(object["kind"]), kind <= 65_535,
            Self.isHex(object["id"], 64), Self.isHex(object["pubkey"], 64), Self.isHex(object["sig"], 128)
        else { return nil }
        var tags: [[String]] = []
        for row in rows {
            guard case .array(let values) = row, !values.isEmpty else { return nil }
            var tag: [String] = []
            for value in values {
                guard case .string(let text) = value else { return nil }
                tag.append(text)
            }
            tags.append(tag)
        }
        self.content = content
        self.tags = tags
        self.createdAt = createdAt
    }

    private static func natural(_ value: JSONValue?) -> Int64? {
        guard case .number(let digits)? = value, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int64(digits)
    }

    private static func isHex(_ value: JSONValue?, _ count: Int) -> Bool {
        guard case .string(let text)? = value, text.utf8.count == count else { return false }
        return text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}
