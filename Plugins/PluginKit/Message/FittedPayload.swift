/// Fits a payload into a push service's limit, text by text in this order: `referenced_event_content` among the app's
/// own keys is shortened, then dropped; so are the body and the subtitle; the title is shortened, but never to less
/// than its first character and `…`. Cuts fall between two characters. All else, buttons too, stays as it is.
public enum FittedPayload {
    /// How many bytes each text may become, counted as JSON without quotes; nil: any number.
    public struct Limits: Sendable, Hashable {
        /// For `referenced_event_content`.
        public var referencedContent: Int?
        /// For the body.
        public var body: Int?
        /// For the subtitle.
        public var subtitle: Int?
        /// For the title.
        public var title: Int?

        /// No limits.
        public init() {}
    }

    /// How many bytes each text became; 0 for one that the payload does not hold.
    public struct Lengths: Sendable, Hashable {
        /// Of `referenced_event_content`.
        public var referencedContent: Int
        /// Of the body.
        public var body: Int
        /// Of the subtitle.
        public var subtitle: Int
        /// Of the title.
        public var title: Int

        /// Takes the lengths of the texts that are there; 0 for those that are not.
        public init(referencedContent: Int = 0, body: Int = 0, subtitle: Int = 0, title: Int = 0) {
            self.referencedContent = referencedContent
            self.body = body
            self.subtitle = subtitle
            self.title = title
        }
    }

    /// What one try gave.
    public struct Attempt<Payload> {
        /// What was written within the limits given.
        public var payload: Payload
        /// What the push service counts.
        public var byteCount: Int
        /// How long each text became.
        public var lengths: Lengths

        /// What one try wrote; the push service counts `byteCount` bytes of it.
        public init(_ payload: Payload, byteCount: Int, lengths: Lengths) {
            self.payload = payload
            self.byteCount = byteCount
            self.lengths = lengths
        }
    }

    /// A JSON payload of at most `limit` bytes; nil when there is none. `write` writes the whole and returns the
    /// lengths of the texts; it is called once when everything fits, and up to five times.
    public static func make(limit: Int, _ write: (inout JSONWriter, Limits) -> Lengths) -> [UInt8]? {
        fit(limit: limit) { limits in
            var writer = JSONWriter()
            let lengths = write(&writer, limits)
            return Attempt(writer.bytes, byteCount: writer.bytes.count, lengths: lengths)
        }
    }

    /// The same for push services that count something else than the bytes of one JSON text. A text that gets less room
    /// has to become shorter by at least as much in what `attempt` counts.
    public static func fit<Payload>(limit: Int, _ attempt: (Limits) -> Attempt<Payload>) -> Payload? {
        var limits = Limits()
        var last = attempt(limits)
        guard last.byteCount > limit else { return last.payload }
        for text in Text.allCases where last.byteCount > limit {
            let length = last.lengths[text]
            guard length > 0 else { continue }
            limits[text] = max(0, length - (last.byteCount - limit))
            last = attempt(limits)
            if text == .title, last.lengths.title == 0 { return nil }
        }
        return last.byteCount <= limit ? last.payload : nil
    }

    /// In the order in which they have to give way.
    fileprivate enum Text: CaseIterable {
        case referencedContent
        case body
        case subtitle
        case title
    }
}

extension FittedPayload.Limits {
    fileprivate subscript(text: FittedPayload.Text) -> Int? {
        get {
            switch text {
            case .referencedContent: referencedContent
            case .body: body
            case .subtitle: subtitle
            case .title: title
            }
        }
        set {
            switch text {
            case .referencedContent: referencedContent = newValue
            case .body: body = newValue
            case .subtitle: subtitle = newValue
            case .title: title = newValue
            }
        }
    }
}

extension FittedPayload.Lengths {
    fileprivate subscript(text: FittedPayload.Text) -> Int {
        switch text {
        case .referencedContent: referencedContent
        case .body: body
        case .subtitle: subtitle
        case .title: title
        }
    }
}

extension JSONWriter {
    private static let referencedContent: StaticString = "referenced_event_content"

    /// A member with a text of at most `limit` bytes of JSON, without its quotes; nothing at all for an empty text, or
    /// when there is no room for its first character and `…`. Returns how many bytes the text became.
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
    /// `referencedContent` bytes of `referenced_event_content`. Returns how many bytes that text became.
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
