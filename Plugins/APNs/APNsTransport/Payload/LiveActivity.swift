import Core
import PluginKit

/// The block's members for a Live Activity (Apple, "Starting and updating Live Activities with ActivityKit push
/// notifications").
struct LiveActivity: Sendable {
    enum Event: String, Sendable {
        case start
        case update
        case end
    }

    /// Keys that have no meaning for an alert.
    static let keys: [StaticString] = [
        "event", "events", "content-state", "timestamp", "stale-date", "dismissal-date", "attributes-type",
        "attributes", "input-push-token", "input-push-channel", "relevance-score",
    ]

    /// Keys that have no meaning for a Live Activity. Most are for devices that get an alert instead.
    private static let foreignKeys: [StaticString] = [
        "push-type", "priority", "actions", "_k", "alert", "mutable-content", "badge", "sound", "category", "thread-id",
        "content-available", "target-content-id", "interruption-level", "filter-criteria",
        "content-changed", "event", "events", "timestamp",
    ]

    let event: Event
    /// When the update was made, in seconds since 1970. The system ignores updates older than the latest.
    let timestamp: JSONValue?
    /// The sound of an update that alerts.
    let sound: JSONValue?
    /// Whether the screen lights up: always for a start, otherwise if the block has an alert or a sound.
    let alerts: Bool
    /// Members that are copied to `aps` unchanged.
    let members: JSONObject

    /// Returns nil if the block is not about a Live Activity. Throws ``PayloadError/badNative`` for a block that Apple
    /// would refuse.
    init?(_ block: JSONObject, isStated: Bool) throws(PayloadError) {
        let name = block["event"] ?? block["events"]
        guard isStated || name != nil || block.contains("content-state") else { return nil }
        guard let event = name.map({ $0.string.flatMap(Event.init(rawValue:)) }) ?? .update else { throw .badNative }
        self.event = event
        if event != .end {
            guard block["content-state"]?.isObject == true else { throw .badNative }
        }
        if event == .start {
            guard block["attributes-type"]?.isString == true, block["attributes"]?.isObject == true else {
                throw .badNative
            }
        }
        timestamp = block["timestamp"]
        if let timestamp, timestamp.number == nil { throw .badNative }
        sound = block["sound"]
        alerts = event == .start || block.contains("alert") || block.contains("sound")
        members = block.removing(LiveActivity.foreignKeys)
    }
}

/// The payload that starts, updates or ends a Live Activity. Only the system reads it, so the app's own keys are
/// omitted.
///
/// The alert of a Live Activity has its own format: a localized text is an object with `loc-key` and `loc-args` under
/// the text's own name, there is no subtitle, and the sound is inside.
struct LiveActivityPayload {
    private let alert: NativeAlert
    private let activity: LiveActivity
    private let writesAlert: Bool
    private let now: Timestamp

    /// Makes a payload of at most `limit` bytes.
    static func make(
        _ notification: borrowing Notification,
        _ block: NativeBlock,
        _ activity: LiveActivity,
        limit: Int,
        now: Timestamp
    ) throws(PayloadError) -> [UInt8] {
        let hasText = !notification.title.isEmpty || !notification.body.isEmpty || block.alert.isVisible
        // The system does not start a Live Activity without an alert.
        guard hasText || activity.event != .start else { throw .empty }
        let payload = LiveActivityPayload(
            alert: block.alert,
            activity: activity,
            writesAlert: activity.alerts && hasText,
            now: now
        )
        let bytes = FittedPayload.make(limit: limit) { writer, limits in
            payload.write(notification, to: &writer, within: limits)
        }
        guard let bytes else { throw .tooLarge }
        return bytes
    }

    private func write(
        _ notification: borrowing Notification,
        to writer: inout JSONWriter,
        within limits: FittedPayload.Limits
    ) -> FittedPayload.Lengths {
        var lengths = FittedPayload.Lengths()
        writer.beginObject()
        writer.key("aps")
        writer.beginObject()
        writer.key("event")
        writer.string(activity.event.rawValue)
        writer.key("timestamp")
        if let timestamp = activity.timestamp {
            writer.value(timestamp)
        } else {
            writer.integer(now.seconds)
        }
        if writesAlert {
            lengths = writeAlert(notification, to: &writer, within: limits)
        }
        writer.members(of: activity.members)
        writer.endObject()
        writer.endObject()
        return lengths
    }

    private func writeAlert(
        _ notification: borrowing Notification,
        to writer: inout JSONWriter,
        within limits: FittedPayload.Limits
    ) -> FittedPayload.Lengths {
        var lengths = FittedPayload.Lengths()
        writer.key("alert")
        writer.beginObject()
        if let title = alert.title {
            lengths.title = writer.member("title", title, limit: limits.title)
        } else if let key = alert.members["title-loc-key"] {
            write("title", key, arguments: alert.members["title-loc-args"], to: &writer)
        } else {
            lengths.title = writer.member("title", notification.title, limit: limits.title)
        }
        if let body = alert.text ?? alert.body {
            lengths.body = writer.member("body", body, limit: limits.body)
        } else if let key = alert.members["loc-key"] {
            write("body", key, arguments: alert.members["loc-args"], to: &writer)
        } else {
            lengths.body = writer.member("body", notification.body, limit: limits.body)
        }
        if let sound = alert.sound ?? activity.sound {
            writer.key("sound")
            writer.value(sound)
        }
        writer.endObject()
        return lengths
    }

    private func write(_ name: StaticString, _ key: JSONValue, arguments: JSONValue?, to writer: inout JSONWriter) {
        writer.key(name)
        writer.beginObject()
        writer.key("loc-key")
        writer.value(key)
        if let arguments {
            writer.key("loc-args")
            writer.value(arguments)
        }
        writer.endObject()
    }
}
