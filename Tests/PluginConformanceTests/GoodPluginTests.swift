import Cipher
import Foundation
import PluginConformance
import Testing

/// The plugins that ship with the project pass the conformance checks.
@Suite(.timeLimit(.minutes(3)))
struct GoodPluginTests {
    @Test func unifiedPushPasses() async throws {
        let workshop = try Workshop()
        let report = await PluginConformance.check(path: try workshop.copy("libCarillonUnifiedPush.so"))
        expectPassed(report, skipping: [.checkBlock])
        #expect(remark(.describe, report) == "UnifiedPush, in rules unifiedpush:")
        #expect(remark(.modes, report) == "it honours: wake, nudge, sealed, alert")
    }

    @Test func webPushPasses() async throws {
        let workshop = try Workshop()
        let block = ["vapid_key": P256PrivateKey().pemRepresentation, "subject": "mailto:ops@example.com"]
        let configuration = String(decoding: try JSONEncoder().encode(block), as: UTF8.self)
        let report = await PluginConformance.check(
            path: try workshop.copy("libCarillonWebPush.so"),
            configurations: ["web": configuration]
        )
        expectPassed(report, skipping: [.checkBlock])
        #expect(remark(.modes, report) == "it honours: wake, nudge, sealed, alert")
    }

    @Test func apnsPasses() async throws {
        let workshop = try Workshop()
        let block = [
            "topic": "com.example.app", "team_id": "TEAMID1234", "key_id": "ABCDEFGHIJ",
            "key": P256PrivateKey().pemRepresentation,
        ]
        let configuration = String(decoding: try JSONEncoder().encode(block), as: UTF8.self)
        let report = await PluginConformance.check(
            path: try workshop.copy("libCarillonAPNs.so"),
            configurations: ["ios": configuration]
        )
        expectPassed(report, skipping: [.checkBlock])
        #expect(remark(.messageID, report) == "the id travels in apns-id")
        #expect(remark(.modes, report) == "it honours: wake, nudge, alert")
    }

    @Test(arguments: [
        "libCarillonAPNs.so", "libCarillonFCM.so", "libCarillonGotify.so", "libCarillonNtfy.so",
        "libCarillonWebPush.so", "libCarillonHTTPTemplate.so",
    ])
    func aDescribedPluginPassesWithItsOwnSample(library: String) async throws {
        let workshop = try Workshop()
        let report = await PluginConformance.check(path: try workshop.copy(library))
        expectPassed(report, skipping: [.checkBlock])
    }

    @Test func theShippedWebhookPassesWithBatches() async throws {
        let workshop = try Workshop()
        let report = await PluginConformance.check(
            path: try workshop.copy("libCarillonWebhook.so"),
            configurations: ["webhook": #"{"batch":50}"#]
        )
        expectPassed(report)
        #expect(remark(.deliverMany, report) == "it took 50 together")
    }

    /// It checks blocks beyond its description.
    @Test func theShippedWebhookPasses() async throws {
        let workshop = try Workshop()
        let report = await PluginConformance.check(path: try workshop.copy("libCarillonWebhook.so"))
        expectPassed(report)
        #expect(remark(.messageID, report) == "the id travels in webhook-id")
        #expect(remark(.modes, report) == "it honours: wake, nudge, alert")
    }

    @Test(arguments: [
        ("libCarillonMutes.so", "mutes", "{}"), ("libCarillonNoise.so", "noise", #"{"hellthread":20,"difficulty":8}"#),
        ("libCarillonWebOfTrust.so", "web-of-trust", #"{"level":"follows-of-follows","unknown":"drop"}"#),
    ])
    func filtersPass(library: String, name: String, settings: String) async throws {
        let workshop = try Workshop()
        let report = await PluginConformance.check(path: try workshop.copy(library), configurations: [name: settings])
        expectFilterPassed(report, name)
    }

    @Test(arguments: [("nothing", []), ("nothing", ["-DRENDERED"]), ("literal", [])] as [(String, [String])])
    func aFilterInCPasses(behaviour: String, flags: [String]) async throws {
        let workshop = try Workshop()
        let plan = try workshop.plan(Workshop.filter, doing: behaviour, flags)
        expectFilterPassed(await PluginConformance.check(plan), "fixture")
    }

    @Test func webhookPasses() async throws {
        let workshop = try Workshop()
        let report = await PluginConformance.check(path: try workshop.compile(Workshop.webhook))
        expectPassed(report, skipping: [.cancel, .command])
        #expect(remark(.describe, report) == "Webhook, in rules webhook:")
        #expect(remark(.checkBlock, report) == "")
        #expect(remark(.messageID, report) == "the id travels in the body")
    }

    /// The fixture of the other tests: without an error, relying on the header (ids are UUIDs, accounts are keys, and
    /// no struct is shorter than in the first release), with one word for all connections, with a stream for each
    /// delivery, and with timers and state.
    @Test(arguments: ["nothing", "literal", "one-word", "one-stream", "keep-time"])
    func fixturePasses(behaviour: String) async throws {
        let workshop = try Workshop()
        let report = await PluginConformance.check(try workshop.plan(Workshop.misbehaving, doing: behaviour))
        expectPassed(report, skipping: Self.undescribed)
        if behaviour == "keep-time" { #expect(remark(.services, report) == "1 timers, 1 keys") }
    }

    @Test func aDescribedPluginNeedsNoFurtherConfiguration() async throws {
        let workshop = try Workshop()
        let path = try workshop.compile(
            Workshop.misbehaving,
            #"-DDESCRIBE="{\"version\":1,\"name\":\"Fixture\",\"target\":{\"kind\":\"token\"},"#
                + #"\"sample\":{\"token\":\"https://x.example/\",\"configuration\":{\"do\":\"nothing\"}}}""#,
            "-DCHECK=agree"
        )
        let report = await PluginConformance.check(path: path)
        expectPassed(report)
        #expect(remark(.describe, report) == "Fixture")
    }

    @Test func withoutAConfigurationNoDeliveryIsHonoured() async throws {
        let workshop = try Workshop()
        let report = await PluginConformance.check(path: try workshop.compile(Workshop.misbehaving))
        #expect(report.failures.map(\.check) == [.deliver])
        #expect(report.failures.first?.text.hasSuffix("give one with --block fixture=FILE") == true)
        let passed = report.results.filter { $0.decision == .passed }.map(\.check)
        #expect(passed == [.load, .descriptor, .createEmpty, .createHostile, .errorText])
    }

    private static let undescribed: [ConformanceCheck] = [.describe, .checkBlock]

    private func expectPassed(_ report: ConformanceReport, skipping: [ConformanceCheck] = []) {
        #expect(report.failures == [])
        #expect(report.isPassed)
        // Features that few plugins have; the plugins that have them are tested elsewhere.
        let skipped = report.results.filter { $0.decision == .skipped }.map(\.check)
        #expect(skipped.filter { ![.deliverMany, .receive].contains($0) } == skipping)
        #expect(report.results.map(\.check) == ConformanceCheck.ofTransports)
    }

    private func expectFilterPassed(_ report: ConformanceReport, _ name: String) {
        #expect(report.failures == [])
        #expect(report.isPassed)
        #expect(report.results.allSatisfy { $0.decision != .skipped })
        #expect(report.results.map(\.check) == ConformanceCheck.ofFilters)
        #expect(report.results.dropFirst(2).allSatisfy { $0.platform == "filter \(name)" })
    }

    private func remark(_ check: ConformanceCheck, _ report: ConformanceReport) -> String? {
        report.results.first { $0.check == check }?.text
    }
}
