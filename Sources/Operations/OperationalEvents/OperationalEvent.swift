import Console
import Delivery
import Notifications
import RouterConfiguration
import Rules
import Units

/// Something that happened to the router or a device. Holds no content, token or endpoint.
struct OperationalEvent: Sendable, Equatable {
    typealias Kind = OperationalEventKind

    let kind: Kind
    let time: Timestamp
    /// In a sentence, for people.
    let words: String
    var queue: QueueName?
    var device: DeviceID?
    /// Further members, by name.
    var details: [(name: String, value: String)] = []

    static func == (left: OperationalEvent, right: OperationalEvent) -> Bool {
        left.kind == right.kind && left.time == right.time && left.words == right.words && left.queue == right.queue
            && left.device == right.device && left.details.elementsEqual(right.details, by: ==)
    }

    /// As the webhook's body has it (Standard Webhooks).
    var body: String {
        "{\"type\":\(JSONText.quoted(kind.rawValue)),\"timestamp\":\"\(UTCTime(time).stamp)\",\"data\":\(data)}"
    }

    private var data: String {
        var json = JSONLine()
        json.add("words", words)
        addDetails(to: &json)
        return json.text
    }

    func addDetails(to json: inout JSONLine) {
        json.add("device", device.map { Int64($0.rawValue) })
        json.add("platform", queue?.platform)
        json.add("app", queue?.app)
        for detail in details { json.add(detail.name, detail.value) }
    }

    /// The names of further members.
    static let detailNames = ["reason", "status", "until", "what", "ends_at", "plugins", "relay", "since"]
}
