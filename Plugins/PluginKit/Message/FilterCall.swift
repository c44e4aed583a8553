package import CarillonABI
import Units

/// One event for one recipient; borrowed for the duration of a call.
public struct FilterCall: ~Copyable {
    private let abi: carillon_filter_call

    package init(_ pointer: UnsafePointer<carillon_filter_call>) {
        abi = carillon_filter_call.adopt(pointer)
    }

    /// The verified event, as JSON.
    public var event: BorrowedText { BorrowedText(abi.event) }
    /// The account, 64 hex digits.
    public var recipient: BorrowedText { BorrowedText(abi.recipient) }
    /// `dm`, `mention`, …
    public var signal: BorrowedText { BorrowedText(abi.signal) }
    /// What the event is to the recipient, in the word that rules use; empty: nothing that has a word.
    public var relation: BorrowedText { BorrowedText(abi.relation) }
    /// Who did it, 64 hex digits, such as the sender of a zap; empty when that is unknown, as for a gift wrap.
    public var author: BorrowedText { BorrowedText(abi.author) }
    /// What a zap is worth; 0: it is none, or unknown.
    public var zapMillisats: UInt64 { abi.zap_millisats }
    /// The router's clock.
    public var now: Timestamp { Timestamp(milliseconds: Int64(clamping: abi.now_unix_ms)) }
    /// As far as the filter's ``PluginFilter/need`` asks for it.
    public var followDistance: FollowDistance { FollowDistance(abi.follow_distance) }

    /// How many of the recipient's newest events are at hand: at most one of each of the filter's wanted kinds.
    public var recipientEventCount: Int { abi.recipient_events == nil ? 0 : abi.recipient_event_count }

    /// One of them, from 0 to ``recipientEventCount`` - 1, as JSON.
    public func recipientEvent(at index: Int) -> BorrowedText? {
        guard (0..<recipientEventCount).contains(index), let events = abi.recipient_events else { return nil }
        return BorrowedText(events[index])
    }

    /// What would be sent; nil unless the filter is asked after rendering.
    public func withNotification<Result>(_ body: (borrowing Notification) -> Result) -> Result? {
        guard let notification = abi.notification else { return nil }
        return body(Notification(notification))
    }

    /// Changes the notification: `field` is one of `title`, `subtitle`, `body`, `category`, `thread`, `collapse_key`,
    /// `url`, `data` and `urgency`. False when the router does not take that, as in modes that show no texts.
    @discardableResult
    public func set(_ field: StaticString, _ value: String) -> Bool {
        guard let set = abi.set else { return false }
        var value = value
        return value.withUTF8 { set(abi.edit, carillon_str(field), carillon_bytes(UnsafeRawBufferPointer($0))) }
            == .CARILLON_OK
    }
}

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

    /// Throws when `text` is not a JSON object. Missing members are empty.
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
