extension JSONWriter {
    private static let referencedContent: StaticString = "referenced_event_content"

    /// A member with a text of at most `limit` bytes of JSON, without its quotes; nothing at all for an empty text, or when
    /// there is no room for its first character and `…`. Returns how many bytes the text became.
    @discardableResult
    public mutating func member(_ name: StaticString, _ text: BorrowedText, limit: Int? = nil) -> Int {
        guard !text.isEmpty else { return 0 }
        guard let limit else {
            key(name)
            return string(text)
        }
        return shortMember(name, text.string, limit: limit)
    }

    /// The same with a text that is JSON already. A value that is no text is written as it is, and 0 returned.
    @discardableResult
    public mutating func member(_ name: StaticString, _ value: JSONValue, limit: Int? = nil) -> Int {
        guard value.isString else {
            key(name)
            self.value(value)
            return 0
        }
        if let limit {
            return shortMember(name, value.string ?? "", limit: limit)
        }
        key(name)
        self.value(value)
        return value.textLength
    }

    /// The app's own keys (`data` of a notification) without those that `overrides` has too, and with at most
    /// `referencedContent` bytes of `referenced_event_content` (seed 000). Returns how many bytes that text became.
    @discardableResult
    public mutating func members(
        ofData data: JSONObject,
        except overrides: JSONObject = JSONObject(),
        referencedContent limit: Int? = nil
    ) -> Int {
        let referenced = data[JSONWriter.referencedContent]
        if overrides.isEmpty, limit == nil {
            members(of: data)
            return referenced.map(\.textLength) ?? 0
        }
        var length = 0
        for index in 0..<data.count {
            let member = data.member(at: index)
            guard !overrides.contains(nameOf: member) else { continue }
            if let referenced, member.value.raw.startIndex == referenced.raw.startIndex {
                length = self.member(JSONWriter.referencedContent, referenced, limit: limit)
            } else {
                self.member(member)
            }
        }
        return length
    }

    private mutating func shortMember(_ name: StaticString, _ text: String, limit: Int) -> Int {
        let short = JSONWriter.shorten(text, limit: limit)
        guard !short.isEmpty else { return 0 }
        key(name)
        return string(short)
    }
}
