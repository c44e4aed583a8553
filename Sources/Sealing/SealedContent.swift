import Foundation
import Notifications

/// The content of an envelope: the notification as a JSON object with the members `t`, `n` (of a batch), `id`, `title`,
/// `subtitle`, `body`, `category`, `thread`, `url` and `actions`, each only where it is set, and the app's custom keys,
/// which override ours of the same name.
///
/// Blanks follow the object, up to a fixed length.
struct SealedContent {
    /// Large enough for most, and small enough for its envelope to fit into every push service's payload.
    static let byteCount = 2048
    /// The members that are shortened when the whole is too long, in this order.
    private static let shortened = ["referenced_event_content", "body", "subtitle", "title"]
    private static let ellipsis = "…"

    private var members: [String: Any]

    init(_ notification: Notifications.Notification, id: DeliveryID) throws {
        var members: [String: Any] = ["id": id.description]
        members["t"] = notification.count > 1 ? "batch" : notification.signal.rawValue
        if notification.count > 1 { members["n"] = Int(notification.count) }
        let texts = [
            "title": notification.title, "subtitle": notification.subtitle, "body": notification.body,
            "category": notification.category, "thread": notification.thread, "url": notification.url,
        ]
        for (name, text) in texts where !text.isEmpty { members[name] = text }
        if !notification.actions.isEmpty { members["actions"] = notification.actions.map(Self.button) }
        if !notification.data.isEmpty {
            let data = try? JSONSerialization.jsonObject(with: Data(notification.data.utf8))
            guard let data = data as? [String: Any] else { throw SealingError.badData }
            members.merge(data) { $1 }
        }
        self.members = members
    }

    private static func button(_ action: NotificationAction) -> [String: String] {
        ["id": action.id, "label": action.label, "url": action.url, "icon": action.icon].filter { !$0.value.isEmpty }
    }

    /// UTF-8 of exactly ``byteCount`` bytes.
    func padded() throws -> [UInt8] {
        var content = self
        var json = try content.json()
        for name in Self.shortened where json.count > Self.byteCount {
            content.shorten(name, by: json.count - Self.byteCount)
            json = try content.json()
        }
        guard json.count <= Self.byteCount else { throw SealingError.tooLarge }
        return json + [UInt8](repeating: UInt8(ascii: " "), count: Self.byteCount - json.count)
    }

    /// Removes at least `excess` bytes of JSON from a text: whole characters from its end, or the whole member.
    private mutating func shorten(_ name: String, by excess: Int) {
        guard let text = members[name] as? String else { return }
        members[name] = nil
        var room = Self.length(of: text.utf8) - excess - Self.ellipsis.utf8.count
        guard room > 0 else { return }
        var beginning = ""
        for character in text {
            room -= Self.length(of: character.utf8)
            guard room >= 0 else { break }
            beginning.append(character)
        }
        if !beginning.isEmpty { members[name] = beginning + Self.ellipsis }
    }

    /// The bytes of a text in JSON, without quotes. Counted here, because it is needed for every character of a
    /// shortened text.
    private static func length(of text: some Sequence<UInt8>) -> Int {
        text.reduce(0) { length, byte in
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), 0x08, 0x09, 0x0A, 0x0C, 0x0D: length + 2
            case ..<0x20: length + 6
            default: length + 1
            }
        }
    }

    private func json() throws -> [UInt8] {
        Array(try JSONSerialization.data(withJSONObject: members, options: [.sortedKeys, .withoutEscapingSlashes]))
    }
}
