import PluginKit

/// What the block says of a Live Activity (Apple, "Starting and updating Live Activities with ActivityKit push
/// notifications").
struct LiveActivity: Sendable {
    enum Event: String, Sendable {
        case start
        case update
        case end
    }

    /// Keys that mean nothing to an alert.
    static let keys: [StaticString] = [
        "event", "events", "content-state", "timestamp", "stale-date", "dismissal-date", "attributes-type",
        "attributes", "input-push-token", "input-push-channel", "relevance-score",
    ]

    /// Keys that mean nothing to a Live Activity; most are there for devices that get an alert in its place.
    private static let foreignKeys: [StaticString] = [
        "push-type", "priority", "actions", "_k", "alert", "mutable-content", "badge", "sound", "category", "thread-id",
        "content-available", "target-content-id", "interruption-level", "filter-criteria",
        "content-changed", "event", "events", "timestamp",
    ]

    let event: Event
    /// When it was sent, in seconds since 1970; an older one than the latest is ignored.
    let timestamp: JSONValue?
    /// Played when it alerts.
    let sound: JSONValue?
    /// Whether the device is to light up. A start always does; an update or end that only names a new state does not.
    let alerts: Bool
    /// What `aps` takes over as it is.
    let members: JSONObject

    /// Nil when the block speaks of none. Throws ``PayloadMistake/badNative`` for one that Apple would refuse.
    init?(_ block: JSONObject, isStated: Bool) throws(PayloadMistake) {
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
