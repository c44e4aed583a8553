import PluginKit
import WebPushMessage

/// The rule's block for this platform: members of the browser's notification, and keys that control the message.
struct WebPushBlock {
    private static let steering: [StaticString] = [
        "declarative", "mutable", "app_badge", "navigate", "topic", "ttl", "urgency",
    ]

    private let object: JSONObject
    /// Whether the browser may show it without the app's service worker.
    let isDeclarative: Bool
    /// Whether the service worker may change what the browser would show.
    let isMutable: Bool
    /// The badge of the app's icon: a number, or a text with one.
    let appBadge: JSONValue?
    /// What a tap opens, instead of the notification's URL.
    let navigate: String?
    /// Instead of the notification's collapse key.
    let topic: String?
    /// In seconds.
    let timeToLive: Int64?
    /// The value of `Urgency`.
    let urgency: String?

    /// Throws for anything but an object, and for a controlling key with a value of the wrong type.
    init(_ notification: borrowing Notification) throws(MessageError) {
        object = try notification.native.object(or: .badNative)
        isDeclarative = try Self.value(object, "declarative", \.bool) ?? true
        isMutable = try Self.value(object, "mutable", \.bool) ?? false
        appBadge = try Self.value(object, "app_badge") { $0.integer == nil && $0.string == nil ? nil : $0 }
        navigate = try Self.value(object, "navigate", \.string)
        topic = try Self.value(object, "topic", \.string)
        timeToLive = try Self.value(object, "ttl", \.integer)
        urgency = try Self.value(object, "urgency", \.urgency)
    }

    /// Whether the block has a member with this name.
    func contains(_ name: StaticString) -> Bool { object.contains(name) }

    /// The block's own title.
    var title: String? { object["title"]?.string }

    /// Writes the members of the browser's notification.
    func writeMembers(to writer: inout JSONWriter) {
        for index in 0..<object.count {
            let member = object.member(at: index)
            let key = member.key
            if !Self.steering.contains(where: { $0.description == key }) {
                writer.member(member)
            }
        }
    }

    private static func value<Value>(
        _ object: JSONObject,
        _ name: StaticString,
        _ read: (JSONValue) -> Value?
    ) throws(MessageError) -> Value? {
        guard let value = object[name], !value.isNull else { return nil }
        guard let read = read(value) else { throw .badNative }
        return read
    }
}

extension JSONValue {
    fileprivate var urgency: String? {
        guard let word = string, ["very-low", "low", "normal", "high"].contains(word) else { return nil }
        return word
    }
}

/// An absolute URL (URL Standard, "absolute-URL string").
enum AbsoluteURL {
    /// Whether the text has a scheme and more, and neither blanks nor control characters.
    static func isOne(_ text: some StringProtocol) -> Bool {
        let bytes = text.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), let first = bytes.first, first.isASCIILetter,
            bytes[..<colon].allSatisfy(isSchemeByte), bytes.allSatisfy({ $0 > 0x20 && $0 != 0x7F })
        else { return false }
        let rest = bytes[bytes.index(after: colon)...]
        switch text[..<colon].lowercased() {
        case "https", "http": return rest.starts(with: "//".utf8) && isHostStart(rest.dropFirst(2).first)
        default: return !rest.isEmpty
        }
    }

    /// Whether it is an `https` or `http` URL, from which a browser can load a picture.
    static func isWebAddress(_ text: some StringProtocol) -> Bool {
        isOne(text) && ["https", "http"].contains(text.prefix { $0 != ":" }.lowercased())
    }

    private static func isHostStart(_ byte: UInt8?) -> Bool {
        switch byte {
        case nil, UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: ":"), UInt8(ascii: "@"): false
        default: true
        }
    }

    private static func isSchemeByte(_ byte: UInt8) -> Bool { byte.isASCIILetterOrDigit || byte.isOne(of: "+-.") }
}
