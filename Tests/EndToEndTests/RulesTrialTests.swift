import Foundation
import Nostr
import Testing
import TimeTestSupport

@testable import CarillonRouter
@testable import Operations

/// The output and errors of `carillon rules try`, with the built plugins.
struct RulesTrialTests {
    private let plugins: BuiltPlugins
    private var order = TrialOrder()

    init() throws {
        plugins = try BuiltPlugins()
        order.pluginFolders = [plugins.path]
    }

    private func report(_ name: String, _ order: TrialOrder) async throws -> TrialReport {
        let trial = try RulesTrial(order, now: 1_780_000_060_000)
        let fixture = try #require(try Fixture.all().first { $0.name == name })
        let report = try await trial.run(TrialSubject(fixture))
        await trial.close()
        return report
    }

    private func object(_ report: TrialReport) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(report.json.utf8)) as? [String: Any])
    }

    private func refusal(_ order: TrialOrder) -> String? {
        let failure = #expect(throws: TrialError.self) { _ = try RulesTrial(order, now: 0) }
        return failure?.description
    }

    @Test func trialShowsAllPlatformsAndPayloads() async throws {
        let text = try await report("reply", order).text
        #expect(text.hasPrefix("reply (kind 1)\n  rule: note (built-in rules:"))
        #expect(text.contains("\n  signal: reply\n"))
        for platform in BuiltPlugins.platforms {
            let keys = ["android", "ios", "web"].contains(platform) ? ", with throw-away keys" : ""
            #expect(text.contains("\n── \(platform)\(keys) ─"), "\(platform)")
        }
        #expect(text.contains("POST https://api.push.apple.com/3/device/"))
        #expect(text.contains("\"title\": \"💬 Alice sent you a note\""))
        #expect(text.contains("encrypted to the device, which reads:"))
    }

    @Test func eachPlatformIsTriedByItself() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "carillon-try-" + UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let rules = """
            version: 1
            rules:
              - { name: phones, match: { kinds: 1, platform: [ios, android] }, title: "on a phone" }
              - { name: silent, match: { kinds: 1, platform: ntfy }, drop: true }
              - { name: rest, match: { kinds: 1 }, title: "elsewhere" }
            """
        try Data(rules.utf8).write(to: folder.appending(path: "rules.yaml"))
        var order = order
        order.rulesFiles = [folder.appending(path: "rules.yaml").path]
        order.platforms = ["ios", "gotify", "ntfy"]
        let report = try await report("reply", order)
        #expect(report.ruleName == "phones" && report.silence == nil && !report.hasFailures)
        #expect(report.text.contains("\nrule: rest\n"))
        #expect(report.text.contains("not sent: the rule 'silent' drops it"))
        let platforms = try #require(try object(report)["platforms"] as? [String: [String: Any]])
        #expect(platforms["gotify"]?["rule"] as? String == "rest" && platforms["ios"]?["rule"] == nil)
        #expect((platforms["ntfy"]?["nothing_goes_out"] as? String)?.contains("'silent'") == true)
    }

    @Test func jsonReportMatchesTheText() async throws {
        var order = order
        order.platforms = ["ios", "web"]
        let report = try object(await report("zap", order))
        #expect(report["wakes"] as? Bool == true && report["signal"] as? String == "zap")
        let platforms = try #require(report["platforms"] as? [String: [String: Any]])
        #expect(Set(platforms.keys) == ["ios", "web"])
        #expect((platforms["ios"]?["body"] as? String)?.contains("Alice zapped you 2100 sats") == true)
        #expect((platforms["web"]?["decrypted"] as? String)?.contains("Alice zapped you 2100 sats") == true)
        #expect(platforms["web"]?["body_base64"] is String)
        #expect((platforms["ios"]?["headers"] as? [String: String])?["apns-push-type"] == "alert")
    }

    /// Users may publish the output, so it must not contain complete credentials.
    @Test func credentialsAreTruncated() async throws {
        var order = order
        order.fields = ["access_token": "tk_averysecrettokenofsomebody"]
        let report = try await report("mention", order)
        #expect(!report.text.contains("secrettoken") && !report.json.contains("secrettoken"))
        #expect(report.text.contains("authorization: bearer eyJ"))
        #expect(report.text.contains("x-gotify-key: Asam…"))
    }

    @Test func sealedTrialShowsTheDecryptedContent() async throws {
        var order = order
        order.mode = "sealed"
        let report = try await report("mention", order)
        let platforms = try #require(try object(report)["platforms"] as? [String: [String: Any]])
        for platform in ["ios", "android", "web", "unifiedpush"] {
            let read = try #require(platforms[platform]?["decrypted"] as? String, "\(platform)")
            #expect(read.contains("Have a look at this, Bob"), "\(platform)")
            // The comma is not part of base64, so the name cannot appear by chance.
            #expect((platforms[platform]?["body"] as? String)?.contains(", Bob") != true, "\(platform)")
        }
        #expect(platforms["ntfy"]?["mode"] as? String == "nudge")
        #expect(report.text.contains("mode: nudge, after sealed (unsupported)"))
    }

    @Test func aBatchIsSummedUp() async throws {
        var order = order
        order.platforms = ["ios"]
        #expect(try await report("batch", order).text.contains("7 new notifications"))
        order.mode = "wake"
        let platforms = try #require(try object(await report("batch", order))["platforms"] as? [String: [String: Any]])
        #expect(platforms["ios"]?["body"] as? String == #"{"aps":{"content-available":1},"t":"batch","n":7}"#)
    }

    @Test func unmatchedEventIsExplained() async throws {
        #expect(try await report("wallet-request", order).silence == "no rule matches kind 23194")
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../contrib/examples/rules"
        )
        var order = order
        order.rulesFiles = [folder.appending(path: "social.yaml").standardizedFileURL.path]
        #expect(
            try await report("small-zap", order).silence
                == "there are rules for kind 9735, but the conditions of none hold, or it names no signal"
        )
    }

    @Test func unclearRecipientIsRequired() async throws {
        let trial = try RulesTrial(order, now: 0)
        let subject = try TrialSubject(event: Array(#"{"kind":1}"#.utf8), name: "mine.json")
        await #expect(throws: TrialError.self) { _ = try await trial.run(subject) }
        await trial.close()
    }

    @Test func impossibleTrialIsExplained() throws {
        var order = order
        order.mode = "loud"
        #expect(refusal(order) == "--mode: 'loud' is none of wake, nudge, sealed, alert")
        order.mode = "alert"
        order.language = "not a language"
        #expect(refusal(order)?.hasPrefix("--language: expected a language") == true)
        order.language = nil
        order.platforms = ["pager"]
        #expect(refusal(order)?.hasPrefix("--platform: no plugin serves 'pager', only android, gotify") == true)
        order.platforms = []
        order.recipient = "nobody"
        #expect(refusal(order)?.hasPrefix("--recipient: expected 64") == true)
        order.recipient = nil
        order.pluginFolders = ["/nonexistent"]
        #expect(refusal(order)?.hasPrefix("no plugins in /nonexistent") == true)
    }

    @Test func invalidTokenIsReportedUnderItsPlatform() async throws {
        var order = order
        order.platforms = ["unifiedpush"]
        order.token = "nowhere"
        let report = try await report("like", order)
        #expect(report.hasFailures)
        guard case .failed(let failure) = try #require(report.deliveries.first).outcome else {
            Issue.record("a token that is no URL was taken")
            return
        }
        #expect(!failure.description.isEmpty && report.text.contains(failure.description))
    }
}
