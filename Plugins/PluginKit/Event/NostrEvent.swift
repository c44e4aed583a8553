/// A Nostr event (NIP-01) as a filter reads it. What is no text in a tag is left out with the rest of that tag.
public struct NostrEvent: Sendable {
    /// 64 hex digits.
    public let id: String
    /// 64 hex digits.
    public let pubkey: String
    /// The `kind` of NIP-01, 0 to 65,535 in events that the router lets in.
    public let kind: Int64
    /// The text as it was signed; encrypted texts stay encrypted.
    public let content: String
    /// Their texts, the name first; none is empty.
    public let tags: [[String]]

    /// Throws when `text` is no JSON object; what is missing in it is empty.
    public init(parsing text: BorrowedText) throws(JSONError) {
        try self.init(JSONObject(parsing: text.bytes))
    }

    /// The same for an event inside of another, such as a zap's request.
    public init(parsing text: String) throws(JSONError) {
        try self.init(JSONObject(parsing: text))
    }

    private init(_ object: JSONObject) {
        id = object["id"]?.string ?? ""
        pubkey = object["pubkey"]?.string ?? ""
        kind = object["kind"]?.integer ?? -1
        content = object["content"]?.string ?? ""
        tags = (object["tags"]?.elements ?? []).compactMap { tag in
            let texts = (tag.elements ?? []).map(\.string).prefix { $0 != nil }.compactMap(\.self)
            return texts.isEmpty ? nil : texts
        }
    }

    /// The second texts of all tags of that name, in their order.
    public func values(of name: String) -> [String] {
        tags.compactMap { $0.count > 1 && $0[0] == name ? $0[1] : nil }
    }
}
