import Cipher
import Foundation
import PluginConformance
import Testing

/// What ships with the project keeps to its own contract.
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
        "libCarillonWebPush.so", "libCarillonHTTPTemplate.so", "libCarillonHMS.so",
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
        #expect(remark(.deliverMany, report) == "it took 50 at once")
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
        let report = await PluginConformance.check(
            path: try workshop.copy(library),
            configurations: [name: settings]
        )
        expectFilterPassed(report, name)
    }

    @Test(arguments: [[], ["-DOLDER"], ["-DRENDERED"]])
    func aFilterInCPasses(flags: [String]) async throws {
        let workshop = try Workshop()
        let path = try workshop.compile(Workshop.filter, flags)
        let report = await PluginConformance.check(
            path: path,
            configurations: ["fixture": #"{"do":"nothing"}"#]
        )
        expectFilterPassed(report, "fixture", skipping: flags == ["-DOLDER"] ? [.needs] : [])
    }

    @Test func webhookPasses() async throws {
        let workshop = try Workshop()
        let report = await PluginConformance.check(path: try workshop.compile(Workshop.webhook))
        expectPassed(report, skipping: [.cancel, .command])
        #expect(remark(.describe, report) == "Webhook, in rules webhook:")
        #expect(remark(.checkBlock, report) == "")
        #expect(remark(.messageID, report) == "the id travels in the body")
    }

    /// The fixture of the other tests, when it is told to do nothing wrong.
    @Test func fixturePasses() async throws {
        let workshop = try Workshop()
        let report = await PluginConformance.check(
            path: try workshop.compile(Workshop.misbehaving),
            configurations: ["fixture": #"{"do":"nothing"}"#]
        )
        expectPassed(report, skipping: Self.undescribed)
    }

    /// Ids are UUIDs, accounts are keys, and no struct is shorter than in the first release: the checks keep to that.
    @Test func aPluginThatTakesTheHeaderAtItsWordPasses() async throws {
        let workshop = try Workshop()
        let configuration = ["fixture": #"{"do":"literal"}"#]
        let transport = try workshop.compile(Workshop.misbehaving)
        expectPassed(
            await PluginConformance.check(path: transport, configurations: configuration),
            skipping: Self.undescribed
        )
    }

    @Test func aFilterThatTakesTheHeaderAtItsWordPasses() async throws {
        let workshop = try Workshop()
        let report = await PluginConformance.check(
            path: try workshop.compile(Workshop.filter),
            configurations: ["fixture": #"{"do":"literal"}"#]
        )
        expectFilterPassed(report, "fixture")
    }

    @Test func oneWordForAllConnectionsIsFine() async throws {
        let workshop = try Workshop()
        let report = await PluginConformance.check(
            path: try workshop.compile(Workshop.misbehaving),
            configurations: ["fixture": #"{"do":"one-word"}"#]
        )
        expectPassed(report, skipping: Self.undescribed)
    }

    @Test func aStreamForEachDeliveryIsFine() async throws {
        let workshop = try Workshop()
        let report = await PluginConformance.check(
            path: try workshop.compile(Workshop.misbehaving),
            configurations: ["fixture": #"{"do":"one-stream"}"#]
        )
        expectPassed(report, skipping: Self.undescribed)
    }

    @Test func aPluginOfAnOlderVersionIsAskedForNothingNew() async throws {
        let workshop = try Workshop()
        let report = await PluginConformance.check(
            ConformancePlan(
                path: try workshop.compile(Workshop.misbehaving, "-DOLDER"),
                configurations: ["fixture": #"{"do":"agree"}"#]
            )
        )
        expectPassed(report, skipping: Self.undescribed + [.command])
    }

    /// A plugin of ABI 1.3 has something else behind the struct.
    @Test func aDescriptionIsNotLookedForInAnOlderPlugin() async throws {
        let workshop = try Workshop()
        let path = try workshop.compile(
            Workshop.misbehaving,
            "-DTRANSPORT_SIZE=offsetof(carillon_transport, describe)",
            #"-DDESCRIBE="{""#,
            "-DCHECK=moody"
        )
        let report = await PluginConformance.check(path: path, configurations: ["fixture": #"{"do":"nothing"}"#])
        expectPassed(report, skipping: Self.undescribed)
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

    @Test func timersAndStateAreOnOffer() async throws {
        let workshop = try Workshop()
        let path = try workshop.compile(Workshop.misbehaving)
        let report = await PluginConformance.check(path: path, configurations: ["fixture": #"{"do":"keep-time"}"#])
        expectPassed(report, skipping: Self.undescribed)
        #expect(remark(.services, report) == "1 timers, 1 keys")
    }

    @Test func aPluginMayNeedWhatTheOldestHostLacks() async throws {
        let workshop = try Workshop()
        let path = try workshop.compile(Workshop.misbehaving)
        let report = await PluginConformance.check(path: path, configurations: ["fixture": #"{"do":"need-timers"}"#])
        expectPassed(report, skipping: Self.undescribed + [.olderHost])
        #expect(remark(.olderHost, report)?.contains("carillon.timer/1") == true)
    }

    @Test func withoutAConfigurationNoDeliveryIsHonoured() async throws {
        let workshop = try Workshop()
        let report = await PluginConformance.check(path: try workshop.compile(Workshop.misbehaving))
        #expect(report.failures.map(\.check) == [.deliver])
        #expect(report.failures.first?.text.hasSuffix("give one with --block fixture=FILE") == true)
        let passed = report.results.filter { $0.verdict == .passed }.map(\.check)
        #expect(passed == [.load, .descriptor, .createEmpty, .createHostile, .errorText])
    }

    private static let undescribed: [ConformanceCheck] = [.describe, .checkBlock]

    private func expectPassed(_ report: ConformanceReport, skipping: [ConformanceCheck] = []) {
        #expect(report.failures == [])
        #expect(report.isPassed)
        // What few plugins have; those that do have tests of their own.
        let skipped = report.results.filter { $0.verdict == .skipped }.map(\.check)
        #expect(skipped.filter { ![.deliverMany, .receive].contains($0) } == skipping)
        #expect(report.results.map(\.check) == ConformanceCheck.ofTransports)
    }

    private func expectFilterPassed(
        _ report: ConformanceReport,
        _ name: String,
        skipping: [ConformanceCheck] = []
    ) {
        #expect(report.failures == [])
        #expect(report.isPassed)
        #expect(report.results.filter { $0.verdict == .skipped }.map(\.check) == skipping)
        #expect(report.results.map(\.check) == ConformanceCheck.ofFilters)
        #expect(report.results.dropFirst(2).allSatisfy { $0.platform == "filter \(name)" })
    }

    private func remark(_ check: ConformanceCheck, _ report: ConformanceReport) -> String? {
        report.results.first { $0.check == check }?.text
    }
}
