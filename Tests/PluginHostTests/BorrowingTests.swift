import Core
import DeliveryTestSupport
import HTTPClient
import Push
import Testing
import TimeTestSupport

@testable import PluginHost

/// The values that reach a plugin, field by field.
struct BorrowingTests {
    private static let everything = Notification(
        mode: .alert,
        signal: .mention,
        urgency: .high,
        count: 3,
        title: "title ⚡",
        subtitle: "subtitle",
        body: "body",
        category: "category",
        thread: "thread",
        collapseKey: "collapse",
        url: "nostr:abc",
        actions: [
            NotificationAction(id: "app.reply", label: "Reply", url: "app://reply", icon: "arrow"),
            NotificationAction(id: "app.mute", label: "Mute"),
        ],
        data: #"{"a":1}"#,
        native: ["fixture": #"{"badge":1}"#, "ios": #"{"badge":2}"#],
        expiresAt: 99
    )

    @Test func everyFieldArrives() async throws {
        let bench = try Bench(doing: "describe")
        let address = DeviceAddress(
            platform: "fixture",
            app: "a",
            token: "token",
            fields: ["p256dh": "key", "auth": "", "é": "ü"],
            registeredAt: 42
        )
        #expect(await bench.outcome(of: Self.everything, to: address).reason == "described")
        #expect(
            bench.log.said.prefix(4) == [
                "232 48|mode 3|urgency 2|count 3|\(Bench.id)|mention|title ⚡|subtitle|body|category|thread|collapse|nostr:abc|"
                    + #"{"a":1}|{"badge":1}|99"#,
                "action 72|app.reply|Reply|app://reply|arrow",
                "action 72|app.mute|Mute||",
                "to token|42",
            ]
        )
        #expect(bench.log.said.dropFirst(4).sorted() == ["field auth|", "field p256dh|key", "field é|ü"])
    }

    @Test func wakeUpCarriesNothingThatCouldLeak() async throws {
        let bench = try Bench(doing: "describe")
        var careless = Self.everything
        careless.mode = .wake
        _ = await bench.outcome(of: careless)
        #expect(bench.log.said.first == "232 48|mode 0|urgency 2|count 3|\(Bench.id)|mention||||||||||99")
        #expect(bench.log.said.count == 2)
    }

    @Test func oneNotificationForManyArrivesWholeUnderEachId() async throws {
        let bench = try Bench(doing: "describe")
        // Copies of it from the second on, then a different one, and the first again.
        var changed = Self.everything
        changed.title = "another"
        let sent = Array(repeating: Self.everything, count: 4) + [changed, changed, changed, Self.everything]
        var expected: [String] = []
        for (number, notification) in sent.enumerated() {
            let address = DeviceAddress(platform: "fixture", app: "a", token: "token-\(number)", registeredAt: 42)
            let id: DeliveryID = "\(Bench.id.description.dropLast())\(number)"
            #expect(await bench.outcome(of: notification, id: id, to: address).reason == "described")
            expected += [
                "232 48|mode 3|urgency 2|count 3|\(id)|mention|\(notification.title)|subtitle|body|category|thread|"
                    + #"collapse|nostr:abc|{"a":1}|{"badge":1}|99"#,
                "action 72|app.reply|Reply|app://reply|arrow", "action 72|app.mute|Mute||", "to token-\(number)|42",
            ]
        }
        #expect(bench.log.said == expected)
    }

    @Test func whatAModeForbidsIsKeptFromEveryDeliveryOfACrowd() async throws {
        let bench = try Bench(doing: "describe")
        var careless = Self.everything
        careless.mode = .wake
        for _ in 0..<3 { _ = await bench.outcome(of: careless) }
        let said = bench.log.said.filter { $0.contains("mode") }
        #expect(said == Array(repeating: "232 48|mode 0|urgency 2|count 3|\(Bench.id)|mention||||||||||99", count: 3))
    }

    @Test func largeTextsArriveWhole() async throws {
        let http = RecordingHTTP()
        let bench = try Bench(doing: "request", http: http)
        var large = Notification.greeting
        large.body = String(repeating: "🔥", count: 100_000)
        #expect(await bench.outcome(of: large).reason == "answered")
        #expect(http.requests.first.map { String(decoding: $0.body, as: UTF8.self) } == large.body)
    }
}
