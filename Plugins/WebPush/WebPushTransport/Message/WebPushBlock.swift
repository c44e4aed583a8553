import PluginKit
import WebPushMessage

/// The `webpush` block of a rule: members of the browser's notification, and what steers how it is sent.
struct WebPushBlock {
    private static let steering: [StaticString] = [
        "declarative", "mutable", "app_badge", "navigate", "topic", "ttl", "urgency",
    ]

    private let object: JSONObject
    /// Whether the browser may show it without the app's service worker, if it can.
    let isDeclarative: Bool
    /// Whether the service worker may change what the browser would show.
    let isMutable: Bool
    /// What the app's icon shows: a number, or a text that is one.
    let appBadge: JSONValue?
    /// What a tap opens, instead of the notification's URL.
    let navigate: String?
    /// Instead of the notification's collapse key.
    let topic: String?
    /// In seconds.
    let timeToLive: Int64?
    /// The value of `Urgency`.
    let urgency: String?

    /// Throws when it is no object, or what steers is of another type than it should be.
    init(_ notification: borrowing Notification) throws(MessageMistake) {
        object = try notification.native.object(or: .badNative)
        isDeclarative = try Self.value(object, "declarative", \.bool) ?? true
        isMutable = try Self.value(object, "mutable", \.bool) ?? false
        appBadge = try Self.value(object, "app_badge") { $0.integer == nil && $0.string == nil ? nil : $0 }
        navigate = try Self.value(object, "navigate", \.string)
        topic = try Self.value(object, "topic", \.string)
        timeToLive = try Self.value(object, "ttl", \.integer)
        urgency = try Self.value(object, "urgency", \.urgency)
    }

    /// Whether the block itself says what the notification has under that name.
    func contains(_ name: StaticString) -> Bool { object.contains(name) }

    /// The title, where the block brings one.
    var title: String? { object["title"]?.string }

    /// Writes the members that are the notification's.
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
    ) throws(MessageMistake) -> Value? {
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
