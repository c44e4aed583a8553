import Foundation
import HTTPClient
import Nostr
import Testing
import TimeTestSupport

@testable import CarillonRouter
@testable import Operations

/// The sounds and banners that a device shows, by rules that passed through the built plugins.
struct SilenceTests {
    private let plugins: BuiltPlugins

    init() throws {
        plugins = try BuiltPlugins()
    }

    /// Returns the results of a fixture by `rules` on every platform.
    private func deliveries(_ rules: String, fixture: String = "reply", mode: String) async throws -> [String: Seen] {
        let file = URL(filePath: plugins.path).appending(path: "rules-\(UUID().uuidString).yaml")
        try "version: 1\n\(rules)".write(to: file, atomically: true, encoding: .utf8)
        var order = TrialOrder()
        order.pluginFolders = [plugins.path]
        order.rulesFiles = [file.path]
        order.mode = mode
        let trial = try RulesTrial(order, now: 1_780_000_060_000)
        let report = try await trial.run(TrialSubject(try #require(try Fixture.all().first { $0.name == fixture })))
        await trial.close()
        #expect(!report.hasFailures, "\(report.text)")
        return Dictionary(report.deliveries.map { ($0.platform, Seen($0)) }) { first, _ in first }
    }

    private struct Seen {
        var headers: [String: String] = [:]
        var body: [String: Any] = [:]
        var unsealed: [String: Any] = [:]
        var spared: String?

        init(_ delivery: TrialDelivery) {
            if case .spared(let reason) = delivery.outcome { spared = "\(reason)" }
            guard case .made(let result) = delivery.outcome, let request = result.request else { return }
            headers = Dictionary(request.headers.map { ($0.name, $0.value) }) { first, _ in first }
            body = Self.object(result.decrypted ?? request.body)
            unsealed = Self.object(delivery.unsealed ?? [])
        }

        private static func object(_ bytes: [UInt8]) -> [String: Any] {
            (try? JSONSerialization.jsonObject(with: Data(bytes))) as? [String: Any] ?? [:]
        }

        var aps: [String: Any] { body["aps"] as? [String: Any] ?? [:] }
        var message: [String: Any] { body["message"] as? [String: Any] ?? [:] }
    }

    @Test(arguments: ["wake", "nudge", "sealed", "alert"])
    func silentRuleIsSilentOnEveryPlatform(mode: String) async throws {
        let seen = try await deliveries(
            "rules: [{ match: { kinds: [1] }, apns: { content-available: 1 }, data: { a: 1 } }]",
            mode: mode
        )
        for platform in ["ntfy", "gotify"] {
            #expect(seen[platform]?.spared == "it is silent, and \(platform) can only show what it gets", "\(mode)")
        }
        let phone = try #require(seen["ios"])
        #expect(phone.headers["apns-push-type"] == "background" && phone.headers["apns-priority"] == "5", "\(mode)")
        #expect(Set(phone.aps.keys) == ["content-available"], "\(mode)")
        #expect(
            (phone.body["sealed"] != nil) == (mode == "sealed") && (phone.unsealed["a"] != nil) == (mode == "sealed")
        )
        #expect(seen["android"]?.message["notification"] == nil && seen["android"]?.message["data"] != nil, "\(mode)")
        let shown = seen["web"]?.body["notification"] as? [String: Any]
        #expect(shown?["title"] == nil && shown?["body"] == nil, "\(mode)")
        #expect(seen["unifiedpush"]?.body["title"] == nil && seen["unifiedpush"]?.body.isEmpty == false, "\(mode)")
    }

    /// A Live Activity's update shows no banner, even if its text does on other devices.
    @Test func aLiveActivityIsNoBanner() async throws {
        let rules = """
            rules: [{ match: { kinds: [1] }, title: Score, apns: { event: update, content-state: { a: 1 } } }]
            """
        for mode in ["nudge", "sealed"] {
            let seen = try await deliveries(rules, mode: mode)
            #expect(seen["ios"]?.headers["apns-push-type"] == "background", "\(mode)")
            #expect(seen["ntfy"]?.body["message"] as? String == "New notification", "\(mode)")
        }
    }

    @Test(arguments: ["nudge", "sealed"])
    func replacementTextIsShownAsTheRuleSpecifies(mode: String) async throws {
        let rules = """
            categories: [NOTE]
            rules:
              - match: { kinds: [1] }
                title: t
                category: note
                apns: { sound: default, badge: 1, interruption-level: passive, category: NOTE, priority: 5 }
                fcm: { style: notification, notification: { channelId: notes } }
                ntfy: { priority: 1 }
                gotify: { priority: 0 }
            """
        let seen = try await deliveries(rules, mode: mode)
        let phone = try #require(seen["ios"])
        #expect(phone.aps["sound"] as? String == "default" && phone.aps["badge"] as? Int == 1)
        #expect(phone.aps["interruption-level"] as? String == "passive" && phone.aps["category"] as? String == "NOTE")
        #expect(phone.body["category"] as? String == "note" && phone.aps["mutable-content"] as? Int == 1)
        #expect(phone.headers["apns-priority"] == "5" && phone.headers["apns-push-type"] == "alert")
        let android = seen["android"]?.message["android"] as? [String: Any]
        let shown = android?["notification"] as? [String: Any]
        #expect(shown?["channelId"] as? String == (mode == "nudge" ? "notes" : nil))
        #expect(seen["ntfy"]?.body["priority"] as? Int == 1 && seen["gotify"]?.body["priority"] as? Int == 0)
    }

    @Test func wakeUpIsNotLouderThanTheAlert() async throws {
        let rules = "rules: [{ match: { kinds: [1] }, title: t, ntfy: { priority: 1 }, gotify: { priority: 0 } }]"
        let seen = try await deliveries(rules, mode: "wake")
        #expect(seen["ntfy"]?.body["priority"] as? Int == 1 && seen["gotify"]?.body["priority"] as? Int == 0)
    }

    @Test func aBatchIsAProperNotification() async throws {
        let rules = """
            rules:
              - match: { kinds: [1] }
                title: t
                apns: { sound: default, badge: 1 }
                fcm: { style: notification, notification: { channelId: notes } }
            """
        for mode in ["alert", "nudge"] {
            let seen = try await deliveries(rules, fixture: "batch", mode: mode)
            let phone = try #require(seen["ios"])
            #expect(phone.aps["sound"] as? String == "default" && phone.aps["badge"] as? Int == 1)
            #expect(phone.aps["mutable-content"] as? Int == 1 && phone.body["category"] as? String == "batch")
            #expect(phone.body["t"] as? String == "batch" && phone.body["n"] as? Int == 7)
            let message = try #require(seen["android"]?.message)
            #expect((message["notification"] as? [String: Any])?["title"] as? String == "7 new notifications")
            let shown = (message["android"] as? [String: Any])?["notification"] as? [String: Any]
            #expect(shown?["channelId"] as? String == "notes")
            #expect((message["data"] as? [String: Any])?["n"] as? String == "7")
        }
    }

    @Test func summaryAndNudgeAcceptTheRulesKeys() async throws {
        let keys = """
            { title: "{{count}} letters", category: box, url: "app://box", actions: [{ id: open, label: Open }],
              data: { box: 1 }, apns: { sound: box.caf }, fcm: { style: notification, notification: { icon: box } },
              webpush: { icon: "https://a.example/box.png" }, ntfy: { tags: [mailbox] } }
            """
        let rules = "rules: [{ match: { kinds: [1] }, title: t }]\nsummary: \(keys)\nnudge: \(keys)"
        for mode in ["alert", "nudge"] {
            let seen = try await deliveries(rules, fixture: "batch", mode: mode)
            let phone = try #require(seen["ios"])
            let tap = phone.body["body"] as? [String: Any]
            #expect(phone.aps["sound"] as? String == "box.caf" && phone.body["category"] as? String == "box")
            #expect(tap?["url"] as? String == "app://box" && tap?["action_buttons"] != nil)
            #expect(phone.body["box"] as? Int == 1)
            let data = try #require(seen["android"]?.message["data"] as? [String: Any])
            #expect(data["url"] as? String == "app://box" && data["box"] as? String == "1" && data["actions"] != nil)
            let shown = seen["web"]?.body["notification"] as? [String: Any]
            #expect(shown?["icon"] as? String == "https://a.example/box.png" && shown?["actions"] != nil)
            #expect(seen["unifiedpush"]?.body["category"] as? String == "box")
            #expect(seen["ntfy"]?.body["tags"] as? [String] == ["mailbox"])
            #expect(seen["ntfy"]?.body["click"] as? String == "app://box")
        }
    }
}
