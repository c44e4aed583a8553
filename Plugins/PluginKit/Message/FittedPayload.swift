/// Fits a payload into a push service's limit by shortening its texts in this order: `referenced_event_content` among
/// the app's own keys, the body, the subtitle, the title. Each is shortened, then dropped, except the title, which
/// keeps at least its first character and `…`. Texts are cut between characters. All other members, even buttons, stay
/// unchanged. Example: `FittedPayload.make(limit: 4096) { message.write(notification, to: &$0, within: $1) }`.
public enum FittedPayload {
    /// The maximum length of each text in bytes of JSON without quotes; nil: unlimited.
    public struct Limits: Sendable, Hashable {
        public var referencedContent: Int?
        public var body: Int?
        public var subtitle: Int?
        public var title: Int?

        /// No limits.
        public init() {}
    }

    /// The length of each text in the payload; 0 if the payload does not contain it.
    public struct Lengths: Sendable, Hashable {
        public var referencedContent: Int
        public var body: Int
        public var subtitle: Int
        public var title: Int

        /// Makes lengths; texts that are absent have length 0.
        public init(referencedContent: Int = 0, body: Int = 0, subtitle: Int = 0, title: Int = 0) {
            self.referencedContent = referencedContent
            self.body = body
            self.subtitle = subtitle
            self.title = title
        }
    }

    /// The result of one attempt to write the payload.
    public struct Attempt<Payload> {
        /// The payload written within the limits.
        public var payload: Payload
        /// The size that the push service counts.
        public var byteCount: Int
        /// The length of each text.
        public var lengths: Lengths

        /// Makes a result; the push service counts `byteCount` bytes of `payload`.
        public init(_ payload: Payload, byteCount: Int, lengths: Lengths) {
            self.payload = payload
            self.byteCount = byteCount
            self.lengths = lengths
        }
    }

    /// Returns a JSON payload of at most `limit` bytes, or nil if there is none. `write` writes the whole payload and
    /// returns the lengths of the texts. It is called once if everything fits, and up to five times otherwise.
    public static func make(limit: Int, _ write: (inout JSONWriter, Limits) -> Lengths) -> [UInt8]? {
        fit(limit: limit) { limits in
            var writer = JSONWriter()
            let lengths = write(&writer, limits)
            return Attempt(writer.bytes, byteCount: writer.bytes.count, lengths: lengths)
        }
    }

    /// Fits a payload for push services that count something other than the bytes of one JSON text. If a text's limit
    /// is lowered, `byteCount` of `attempt` must fall by at least as much.
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

    /// The texts in the order in which they are shortened.
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

    /// Writes a member with a text of up to `limit` bytes of JSON, without its quotes. Writes nothing if the text is
    /// empty, or if its first character and `…` do not fit. Returns the length of the text in bytes.
    @discardableResult
    public mutating func member(_ name: StaticString, _ text: BorrowedText, limit: Int? = nil) -> Int {
        guard !text.isEmpty else { return 0 }
        guard let limit else {
            key(name)
            return string(text)
        }
        return shortMember(name, text.string, limit: limit)
    }

    /// Writes a member with a text that is JSON already. A value that is not a string is written unchanged; returns 0.
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

    /// Writes the app's own keys (`data` of a notification) except those in `overrides`, with up to `referencedContent`
    /// bytes of `referenced_event_content`. Returns the length of that text in bytes.
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
