import CarillonABI
import Foundation
import PluginTestSupport
import RandomTestSupport

@testable import APNsTransport

/// A random notification and device as a router might pass them: valid JSON with arbitrary strings.
struct RandomDelivery {
    var notification = SampleNotification()
    var device = SampleRegistration(token: TransportFixture.deviceToken)

    init(_ random: inout SeededGenerator) throws {
        let modes: [carillon_mode] = [
            .CARILLON_WAKE, .CARILLON_NUDGE, .CARILLON_SEALED, .CARILLON_ALERT, .CARILLON_ALERT, .CARILLON_ALERT,
        ]
        notification.mode = modes.randomElement(using: &random) ?? .CARILLON_WAKE
        notification.urgency =
            [.CARILLON_LOW, .CARILLON_NORMAL, .CARILLON_HIGH].randomElement(using: &random) ?? .CARILLON_NORMAL
        notification.count = random.once(in: 4) ? .random(in: 0 ... .max, using: &random) : 1
        notification.signal = HostileText.make(&random)
        if random.once(in: 4) { notification.id = HostileText.make(&random) }
        // All values of nudges and sealed notifications are neutral.
        let isNeutral = notification.mode == .CARILLON_NUDGE || notification.mode == .CARILLON_SEALED
        notification.title = isNeutral ? HostileText.make(&random) : HostileText.makeSecret(&random)
        notification.body = isNeutral ? HostileText.make(&random) : HostileText.makeSecret(&random)
        notification.subtitle = HostileText.makeSecret(&random)
        notification.category = HostileText.makeSecret(&random)
        notification.thread = HostileText.makeSecret(&random)
        notification.collapseKey = HostileText.makeSecret(&random)
        notification.url = HostileText.makeSecret(&random)
        notification.actions = (0..<Int.random(in: 0...6, using: &random)).map { _ in
            .init(
                id: HostileText.makeSecret(&random),
                label: HostileText.makeSecret(&random),
                url: HostileText.makeSecret(&random),
                icon: HostileText.makeSecret(&random)
            )
        }
        notification.data = try RandomDelivery.json(RandomDelivery.data(&random), &random)
        notification.native = try RandomDelivery.json(RandomDelivery.block(&random), &random)
        notification.expiresAt = random.once(in: 3) ? .random(in: 0 ... .max, using: &random) : 0
        if notification.mode == .CARILLON_SEALED, !random.once(in: 5) {
            notification.sealed = try RandomDelivery.json(["v": 1, "ct": HostileText.make(&random)], &random)
        }
        for name in DeviceTokens.fields.map(\.description) where !random.once(in: 3) {
            let token = random.once(in: 5) ? HostileText.make(&random) : String(repeating: "e", count: 80)
            device.fields.append((name, token))
        }
        if random.once(in: 3) { device.fields.append(("environment", HostileText.make(&random))) }
    }

    /// All except Live Activities.
    static let ownKinds = ["voip", "location", "complication", "fileprovider", "pushtotalk", "widgets", "controls"]

    private static func json(_ object: [String: Any], _ random: inout SeededGenerator) throws -> String {
        guard !object.isEmpty else { return "" }
        let options: JSONSerialization.WritingOptions =
            random.once(in: 2) ? [.prettyPrinted] : [.withoutEscapingSlashes]
        return String(decoding: try JSONSerialization.data(withJSONObject: object, options: options), as: UTF8.self)
    }

    private static func data(_ random: inout SeededGenerator) -> [String: Any] {
        var data: [String: Any] = [:]
        if !random.once(in: 3) { data["event_id"] = HostileText.makeSecret(&random) }
        if !random.once(in: 3) { data["referenced_event_content"] = HostileText.makeSecret(&random) }
        if random.once(in: 3) { data["kind"] = 7 }
        for key in ["body", "category", "t", "sealed"] where random.once(in: 8) {
            data[key] = ["x": HostileText.makeSecret(&random)]
        }
        if random.once(in: 4) { data[HostileText.make(&random)] = [HostileText.makeSecret(&random), NSNull()] }
        return data.filter { $0.key != "aps" }
    }

    /// Returns a block that passes the checks of rules and contains arbitrary strings.
    private static func block(_ random: inout SeededGenerator) -> [String: Any] {
        var block: [String: Any] = [:]
        let text = { (random: inout SeededGenerator) in HostileText.makeSecret(&random) }
        let kinds =
            ["", "", "", "", "background", "background", "liveactivity", "liveactivity"] + RandomDelivery.ownKinds
        let kind = kinds.randomElement(using: &random) ?? ""
        if kind != "liveactivity", kind != "" { block["push-type"] = kind }
        if random.once(in: 3) { block["priority"] = [1, 5, 10].randomElement(using: &random) }
        if random.once(in: 3) { block["_k"] = text(&random) }
        if random.once(in: 4) { block["actions"] = [text(&random): ["url": text(&random)]] }
        if random.once(in: 3) { block["thread-id"] = text(&random) }
        if random.once(in: 3) { block["category"] = text(&random) }
        if random.once(in: 3) { block["content-available"] = 1 }
        if random.once(in: 3) { block["mutable-content"] = 1 }
        if kind != "background" {
            if random.once(in: 3) { block["badge"] = 1 }
            if random.once(in: 3) { block["sound"] = text(&random) }
            if random.once(in: 3) { block["alert"] = alert(&random) }
        }
        if kind == "liveactivity" { addLiveActivity(to: &block, &random) }
        return block
    }

    private static func alert(_ random: inout SeededGenerator) -> Any {
        if random.once(in: 3) { return HostileText.makeSecret(&random) }
        let keys = ["title", "subtitle", "body", "title-loc-key", "loc-key", "launch-image"]
        return Dictionary(
            uniqueKeysWithValues: keys.compactMap { key in
                random.once(in: 3) ? (key, HostileText.makeSecret(&random)) : nil
            }
        )
    }

    private static func addLiveActivity(to block: inout [String: Any], _ random: inout SeededGenerator) {
        let event = ["start", "update", "end"].randomElement(using: &random) ?? "update"
        block[random.once(in: 2) ? "event" : "events"] = event
        block["content-state"] = [HostileText.make(&random): HostileText.makeSecret(&random)]
        if event == "start" {
            block["attributes-type"] = HostileText.makeSecret(&random)
            block["attributes"] = ["x": HostileText.makeSecret(&random)]
        }
        if event == "end", random.once(in: 2) { block["dismissal-date"] = 1_770_000_100 }
        if random.once(in: 2) { block["timestamp"] = 1_770_000_000 }
    }
}

/// Strings that strangers may write into their events.
enum HostileText {
    /// Part of every string that only ``Mode/alert`` may show.
    static let secret = "S3CRET"

    private static let pieces = [
        "a", "é", "漢字", "😀", "👨‍👩‍👧‍👦", "🇩🇪", "e\u{301}\u{302}\u{303}", "\"", "\\", "\\\"", "\",\"aps\":{", "}}", "\r\n", "\n",
        "\r\nx-injected: 1\r\n\r\n", "\t", "\u{0}", "\u{1}", "\u{1F}", "\u{7F}", "\u{85}", "\u{2028}", "\u{2029}",
        "\u{202E}", "\u{2066}", "\u{200B}\u{200B}", "\u{FEFF}", "\u{FFFD}", "\u{FFFF}", "\u{10FFFF}", "</script>",
        "{{event.content}}", "%s%n", "\\u0022", "null", "1", " ",
    ]

    /// Returns mostly short strings, and some longer than any push may be.
    static func make(_ random: inout SeededGenerator) -> String {
        let count: Int
        switch Int.random(in: 0..<40, using: &random) {
        case 0...3: count = 0
        case 4: count = Int.random(in: 300...1500, using: &random)
        case 5, 6: count = Int.random(in: 50...300, using: &random)
        default: count = Int.random(in: 1...12, using: &random)
        }
        if random.once(in: 4), let piece = pieces.randomElement(using: &random) {
            return String(repeating: piece, count: count)
        }
        return (0..<count).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
    }

    static func makeSecret(_ random: inout SeededGenerator) -> String {
        let text = make(&random)
        return random.once(in: 3) ? "" : secret + text
    }
}
