import CarillonRouter
import DeliveryTestSupport
import Foundation
import HTTPClient
import Nostr
import PlatformTestSupport
import Push
import Rules
import Storage
import Testing
import TimeTestSupport

@testable import Operations

/// The payloads of the seeds as rules: Apple gets exactly the operator's values.
struct SeedPayloadTests {
    private static let repository = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// Values that reach only a plugin, because the rules reject them, with the key that the rules name.
    private static let refused = [
        "missing mutable-content": "mutable-content", "missing required fields": "label",
        "unknown category": "unknown.category",
        "keys that are not Apple's yet": "brand-new",
        "dismissal-date, timestamp (on a device": "dismissal-date",
    ]

    private struct Golden: @unchecked Sendable, CustomTestStringConvertible {
        let source: String
        // What JSONSerialization reads is never changed.
        let object: [String: Any]

        var testDescription: String { source }
        var notification: [String: Any] { object["notification"] as? [String: Any] ?? [:] }
        var native: [String: Any] { notification["native"] as? [String: Any] ?? [:] }
        var payload: NSDictionary { object["payload"] as? NSDictionary ?? [:] }
        var hasTokens: Bool { object["registration"] != nil }
        var refusal: String? { SeedPayloadTests.refused.first { source.contains($0.key) }?.value }

        /// The notification in the form of an operator's rule.
        var rule: [String: Any] {
            var rule: [String: Any] = ["event_data": false]
            for name in ["title", "subtitle", "body", "url", "category", "thread", "data"] {
                rule[name] = notification[name]
            }
            // Values that are empty over the ABI are absent in a file.
            rule["actions"] = (notification["actions"] as? [[String: String]])?.map { $0.filter { !$0.value.isEmpty } }
            var block = native
            block["_k"] = notification["id"] ?? block["_k"]
            rule["apns"] = block.isEmpty ? nil : block
            return rule
        }
    }

    private static func goldens(_ seed: String) throws -> [Golden] {
        let file = repository.appending(path: "Tests/APNsTransportTests/Goldens/seed-\(seed).json")
        let list = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [[String: Any]]
        return try #require(list).map { Golden(source: $0["source"] as? String ?? "", object: $0) }
    }

    private static func book(_ golden: Golden) throws -> RuleBook {
        let file: [String: Any] = ["version": 1, "rules": [golden.rule], "categories": ["c"]]
        let text = try JSONSerialization.data(withJSONObject: file, options: [.withoutEscapingSlashes, .sortedKeys])
        return try RuleBook(yaml: String(decoding: text, as: UTF8.self), name: "golden.yaml", platforms: .builtIn)
    }

    private func event() throws -> Event {
        let hex = String(repeating: "0", count: 64)
        let object: [String: Any] = [
            "id": hex, "pubkey": hex, "sig": hex + hex, "created_at": 1_770_000_000, "kind": 1, "content": "",
            "tags": [],
        ]
        return try Event(json: Array(try JSONSerialization.data(withJSONObject: object)))
    }

    @Test(arguments: ["000", "002", "003"])
    func configuredPayloadIsSentToAppleUnchanged(seed: String) async throws {
        let dryRun = Trial(RecordedServices(host: try BuiltPlugins().load(), platforms: .builtIn))
        let event = try event()
        var seen = 0
        for golden in try Self.goldens(seed) where golden.refusal == nil {
            let rule = try #require(try Self.book(golden).rules.first, "\(golden.source)")
            let notification = rule.render(
                RuleInput(event: event, recipient: event.pubkey, signal: .reply, authorName: "alice"),
                signal: .reply,
                mode: .alert,
                now: 1_770_000_000_000
            )
            let tokens = golden.hasTokens ? [:] : ["live_activity_token": "", "voip_token": ""]
            let result = try await dryRun.deliver(
                notification,
                id: "6c0f5f4e-9f4e-4c57-8c2e-0a1b2c3d4e5f",
                to: SampleDevice(platform: "ios", PlatformCatalog.builtIn["ios"], fields: tokens)
            )
            let body = try #require(result.request, "\(golden.source): \(result.reason)").body
            let sent = try JSONSerialization.jsonObject(with: Data(body)) as? NSDictionary
            #expect(try withoutTimestampOfNow(#require(sent), golden) == golden.payload, "\(golden.source)")
            seen += 1
        }
        #expect(seen > 8)
    }

    /// A Live Activity without a `timestamp` gets the plugin's own clock, which stands still only in the golden.
    private func withoutTimestampOfNow(_ sent: NSDictionary, _ golden: Golden) throws -> NSDictionary {
        guard golden.native["timestamp"] == nil, let expected = golden.payload["aps"] as? NSDictionary,
            let timestamp = expected["timestamp"], let aps = sent["aps"] as? NSDictionary,
            let now = aps["timestamp"] as? Int
        else { return sent }
        #expect(abs(Double(now) - Date().timeIntervalSince1970) < 600)
        guard let corrected = aps.mutableCopy() as? NSMutableDictionary,
            let whole = sent.mutableCopy() as? NSMutableDictionary
        else { return sent }
        corrected["timestamp"] = timestamp
        whole["aps"] = corrected
        return whole
    }

    @Test(arguments: ["002", "003"])
    func invalidSeedConfigurationIsRefusedByName(seed: String) throws {
        for golden in try Self.goldens(seed) {
            guard let key = golden.refusal else { continue }
            let error = #expect(throws: Diagnostics.self, "\(golden.source)") { try Self.book(golden) }
            #expect(error?.description.contains(key) == true, "\(golden.source): \(error?.description ?? "")")
        }
    }
}
