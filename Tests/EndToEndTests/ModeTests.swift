import CarillonRouter
import Cipher
import DeliveryTestSupport
import Foundation
import HTTPClient
import Nostr
import PlatformTestSupport
import Push
import Testing
import TimeTestSupport

@testable import Operations
@testable import Rules

/// The bytes that are sent: only mode `alert` may show the sender, the content, the event and the relay.
struct ModeTests {
    private static let content = "MEETMEATNOON"
    private static let name = "BOBTHEBUILDER"
    private static let note = "THENOTEREFERREDTO"
    private static let relay = "relay.somewhere.example"
    private static let recipient = [UInt8](repeating: 7, count: 32)

    private let dryRun: Trial
    private let rules: [Rule]

    init() throws {
        dryRun = Trial(RecordedServices(host: try BuiltPlugins().load(), platforms: .builtIn))
        rules = try RuleFiles.all()
    }

    private func input(kind: UInt16) throws -> RuleInput {
        let author = Hex.encode([UInt8](repeating: 0xAB, count: 32))
        let referenced = Hex.encode([UInt8](repeating: 0xCD, count: 32))
        let event: [String: Any] = [
            "id": Hex.encode([UInt8](repeating: 0xEF, count: 32)), "pubkey": author, "sig": author + author,
            "created_at": 1_780_000_000, "kind": Int(kind), "content": Self.content,
            "tags": [["p", Hex.encode(Self.recipient)], ["e", referenced, "wss://\(Self.relay)", "root"]],
        ]
        return RuleInput(
            event: try Event(json: Array(try JSONSerialization.data(withJSONObject: event))),
            recipient: try #require(PublicKey(bytes: Self.recipient)),
            signal: .reply,
            authorName: Self.name,
            referenced: ReferencedEvent(
                id: try #require(EventID(hex: referenced)),
                kind: Kind(rawValue: 1),
                content: Self.note
            )
        )
    }

    /// Secrets that only an alert may contain, in every spelling that a payload could have them in.
    private func secrets(of input: RuleInput) -> [String] {
        let keys = [input.event.id.bytes, input.event.pubkey.bytes, input.referenced?.id.bytes].compactMap { $0 }
        return [Self.content, Self.name, Self.note, Self.relay, String(input.event.createdAt)]
            + keys.flatMap { [$0.hex, $0.hex.uppercased(), Base64URL.encode($0.array), Base64.encode($0.array)] }
            + [NIP19.npub(input.event.pubkey)]
    }

    private func deliver(
        _ rule: Rule,
        _ input: RuleInput,
        _ mode: Mode,
        to device: SampleDevice
    ) async throws
        -> TrialResult
    {
        let notification = rule.render(input, signal: .reply, mode: mode, now: 1_780_000_060_000)
        return try await dryRun.deliver(notification, id: "6c0f5f4e-9f4e-4c57-8c2e-0a1b2c3d4e5f", to: device)
    }

    /// Returns everything that the push service sees.
    private func visible(_ request: HTTPRequest) -> String {
        ([request.url] + request.headers.flatMap { [$0.name, $0.value] } + [
            String(decoding: request.body, as: UTF8.self)
        ])
        .joined(separator: "\n")
    }

    @Test(arguments: BuiltPlugins.platforms, [Mode.wake, .nudge, .sealed])
    func onlyAnAlertShowsAuthorAndContent(platform: String, mode: Mode) async throws {
        let input = try input(kind: 1)
        let device = SampleDevice(platform: platform, PlatformCatalog.builtIn[platform])
        for rule in rules {
            let result = try await deliver(rule, input, mode, to: device)
            #expect(result.mode <= mode)
            let request = try #require(result.request, "\(rule.name): \(result.reason)")
            var text = visible(request)
            if result.mode < .sealed, let decrypted = result.decrypted {
                text += String(decoding: decrypted, as: UTF8.self)
            }
            for secret in secrets(of: input) {
                #expect(!text.contains(secret), "\(rule.name), \(result.mode): \(secret)")
            }
        }
    }

    /// The same search finds all secrets in an alert, which proves that it works.
    @Test(arguments: BuiltPlugins.platforms)
    func alertShowsAuthorAndContent(platform: String) async throws {
        let input = try input(kind: 1)
        let rule = try #require(try RuleBook.builtIn(platforms: .builtIn).rules.first { $0.name == "note" })
        let result = try await deliver(
            rule,
            input,
            .alert,
            to: SampleDevice(platform: platform, PlatformCatalog.builtIn[platform])
        )
        #expect(result.mode == .alert)
        let request = try #require(result.request)
        let text = visible(request) + String(decoding: result.decrypted ?? [], as: UTF8.self)
        #expect(text.contains(Self.content) && text.contains(Self.name))
        if !["ntfy", "gotify", "http", "telegram"].contains(platform) {
            #expect(text.contains(input.event.id.hex) && text.contains(Self.note))
        }
    }

    @Test(arguments: ["web", "unifiedpush", "ios", "android"])
    func everySealedPushHasTheSameLength(platform: String) async throws {
        let rule = try #require(try RuleFiles.example("privacy-first").rules.first { $0.name == "reply-or-mention" })
        let device = SampleDevice(platform: platform, PlatformCatalog.builtIn[platform])
        var lengths: Set<Int> = []
        for content in ["", "x", String(repeating: "long ", count: 30), String(repeating: "\u{1F514}", count: 3000)] {
            var input = try input(kind: 1)
            input.authorName = content
            input.referenced?.content = content
            let result = try await deliver(rule, input, .sealed, to: device)
            #expect(result.mode == .sealed)
            lengths.insert(try #require(result.request).body.count)
        }
        #expect(lengths.count == 1, "\(lengths)")
    }

    @Test(arguments: ["ntfy", "gotify", "http", "telegram"])
    func sealedModeIsANudgeOnPlatformsWithoutSealing(platform: String) async throws {
        let rule = try #require(try RuleFiles.example("privacy-first").rules.first { $0.name == "reply-or-mention" })
        let result = try await deliver(
            rule,
            input(kind: 1),
            .sealed,
            to: SampleDevice(platform: platform, PlatformCatalog.builtIn[platform])
        )
        #expect(result.reductions.map(\.mode) == [.sealed])
        #expect(result.reductions.map(\.reason) == ["unsupported"])
        #expect(result.mode == .nudge)
        #expect(visible(try #require(result.request)).contains("New activity"))
    }

    @Test(arguments: BuiltPlugins.platforms)
    func stricterModeOfRuleAndDeviceWins(platform: String) async throws {
        let rules = try RuleFiles.example("privacy-first").rules
        let input = try input(kind: 7)
        for rule in rules {
            for mode in Mode.allCases {
                let result = try await deliver(
                    rule,
                    input,
                    mode,
                    to: SampleDevice(platform: platform, PlatformCatalog.builtIn[platform])
                )
                #expect(result.mode <= min(mode, rule.mode), "\(rule.name) in \(mode)")
            }
        }
    }
}
