import CarillonRouter
import CostTestSupport
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

/// Strings from strangers: each payload is complete JSON in complete header lines, within the push service's limit.
struct HostileEventsTests {
    private static let events = TestLength.rounds(300, long: 1_500)
    /// The number of processors of a small machine.
    private static let shards = 2
    private static let recipient = PublicKey(bytes: [UInt8](repeating: 7, count: 32))

    @Test func hostileTextStaysInItsField() async throws {
        let rules = try RuleFiles.all()
        let plugins = try BuiltPlugins()
        let reduced = try await withThrowingTaskGroup(of: Int.self) { group in
            for shard in 0..<Self.shards {
                group.addTask { try await reductions(in: shard, of: rules, plugins) }
            }
            return try await group.reduce(0, +)
        }
        #expect(reduced > 0, "no event was large enough to be downgraded")
    }

    /// Checks a shard's share of the events; returns the number of downgrades.
    private func reductions(in shard: Int, of rules: [Rule], _ plugins: BuiltPlugins) async throws -> Int {
        let recipient = try #require(Self.recipient)
        let dryRun = Trial(RecordedServices(host: try plugins.load(), platforms: .builtIn))
        let devices = BuiltPlugins.platforms.map { SampleDevice(platform: $0, PlatformCatalog.builtIn[$0]) }
        var hostile = HostileEvents(seed: 20_261_121 + UInt64(shard), recipient: recipient)
        var reduced = 0
        for number in stride(from: shard, to: Self.events, by: Self.shards) {
            let event = try hostile.next()
            let input = RuleInput(
                event: event,
                recipient: recipient,
                signal: .reply,
                authorName: hostile.name(),
                referenced: try hostile.note()
            )
            let rule = rules[number % rules.count]
            let mode = Mode.allCases[number / rules.count % Mode.allCases.count]
            let notification = rule.render(
                input,
                signal: .reply,
                mode: mode,
                language: LanguageTag(["de-AT", "en", "pt-BR"][number % 3]),
                now: 1_780_000_000_000
            )
            for device in devices {
                let result = try await dryRun.deliver(notification, id: Self.id, to: device)
                reduced += result.reductions.count
                let place = "event \(number), rule \(rule.name), \(device.address.platform), \(result.mode)"
                let request = try #require(result.request, "\(place): \(result.reason)")
                try expectSound(request, result.decrypted, device.address.platform, place)
            }
        }
        return reduced
    }

    private static let id: DeliveryID = "6c0f5f4e-9f4e-4c57-8c2e-0a1b2c3d4e5f"

    private func expectSound(
        _ request: HTTPRequest,
        _ decrypted: [UInt8]?,
        _ platform: String,
        _ place: String
    ) throws {
        for header in request.headers {
            let isLine =
                header.name.utf8.allSatisfy { (0x21...0x7E).contains($0) }
                && header.value.utf8.allSatisfy { (0x20...0x7E).contains($0) }
            try #require(isLine, "\(place): header \(header.name)")
        }
        try #require(request.url.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "\(place): URL")
        let isCall = request.headers.contains { $0.name == "apns-push-type" && $0.value == "voip" }
        // Telegram counts characters of the text without markup, each of which may become `&quot;`; others count bytes.
        let inCharacters = platform == "telegram" ? 5 * 4096 + 2048 : 0
        let limit = platform == "webhook" ? 20_000 : isCall ? 5120 : 4096 + inCharacters
        if platform == "android" {
            try #require(FCMSize.counted(request.body) <= limit, "\(place): size")
        } else {
            try #require(request.body.count <= limit, "\(place): size")
        }
        let isEncrypted = request.headers.contains { $0.name == "content-encoding" }
        try #require(isEncrypted == (decrypted != nil), "\(place): encryption")
        let object = try? JSONSerialization.jsonObject(with: Data(decrypted ?? request.body))
        try #require(object is [String: Any], "\(place): JSON")
    }
}
