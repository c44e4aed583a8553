import Delivery
import Nostr
import PlatformTestSupport
import Push
import Rules
import Synchronization
import Testing

@testable import Pipeline

/// Devices that register again while pushes to them are in progress or waiting.
@Suite struct ReregisteredDeviceTests {
    /// Returns a phone with one push in progress, and the content of its registration.
    private func phoneWithAPushUnderWay(_ bench: Workbench) throws -> (owner: KeyPair, content: String) {
        let owner = try Workbench.keys()
        let content = Workbench.content(mode: "alert")
        bench.submit([try bench.registration(of: owner, content)], from: .feed)
        bench.submit([try bench.note(to: owner, "first")])
        return (owner, content)
    }

    @Test(arguments: [false, true])
    func whoMovesIsNotSilencedByAPushAtTheFormerPlace(afterARestart: Bool) throws {
        let bench = try Workbench.paced()
        let (owner, content) = try phoneWithAPushUnderWay(bench)
        if !afterARestart { bench.submit([try bench.note(to: owner, "second")]) }
        let elsewhere = content.replacing(#""platform":"ios""#, with: #""platform":"android""#)
        bench.submit([try bench.registration(of: owner, elsewhere, secondsAgo: 50)], from: .feed)
        if afterARestart {
            try bench.restart()
            bench.submit([try bench.note(to: owner, "second")])
        }
        #expect(bench.kept.map(\.platform) == ["ios", "android"])
        // The result of the first one, in any queue, changes nothing.
        try bench.end()
        bench.submit([try bench.note(to: owner, "third")])
        try bench.end()
        bench.pass(59)
        #expect(bench.kept.count == 2)
        bench.pass(2)
        #expect(bench.kept.count == 3)
    }

    @Test func whoHasAnotherTokenIsElsewhereToo() throws {
        let bench = try Workbench.paced()
        let (owner, _) = try phoneWithAPushUnderWay(bench)
        bench.submit([try bench.note(to: owner, "second")])
        bench.submit([try bench.registration(of: owner, Workbench.content(mode: "alert"), secondsAgo: 50)], from: .feed)
        #expect(bench.kept.count == 2)
    }

    @Test func whoIsRegisteredAnewAtTheSamePlaceWaitsStill() throws {
        let bench = try Workbench.paced()
        let (owner, content) = try phoneWithAPushUnderWay(bench)
        bench.submit([try bench.note(to: owner, "second")])
        bench.submit([try bench.registration(of: owner, content, secondsAgo: 50)], from: .feed)
        bench.pass(3600)
        #expect(bench.kept.count == 1)
    }

    @Test(arguments: [false, true])
    func whatIsSealedToAFormerKeySaysLess(isKeyChanged: Bool) throws {
        let sealer = FakeSealer()
        let bench = try Workbench.paced(dependencies: PipelineDependencies(sealer: sealer))
        let owner = try bench.account(mode: "sealed")
        bench.submit([try bench.note(to: owner)])
        try bench.end()
        bench.submit([try bench.note(to: owner, "second")])
        if isKeyChanged { sealer.key.withLock { $0 = -2 } }
        try bench.restart()
        bench.pass(61)
        let notification = try #require(bench.kept.last).notification
        #expect(bench.kept.count == 2)
        #expect(notification.mode == (isKeyChanged ? .nudge : .sealed))
        #expect(notification.sealed.isEmpty == isKeyChanged)
        #expect(notification.neutral.isEmpty == false)
    }

    @Test func whatATransportWasToSealIsSealedIfItDoesSoNoMore() throws {
        let sealer = FakeSealer()
        let bench = try Workbench(
            encryptingPlatforms: ["android"],
            pacing: PacingPolicy(),
            dependencies: PipelineDependencies(sealer: sealer)
        )
        let owner = try Workbench.keys()
        let phone = Workbench.content(mode: "sealed")
        let sealing = phone.replacing(#""platform":"ios""#, with: #""platform":"android""#)
        bench.submit([try bench.registration(of: owner, sealing)], from: .feed)
        bench.submit([try bench.note(to: owner)])
        try bench.end()
        bench.submit([try bench.note(to: owner, "second")])
        bench.submit([try bench.registration(of: owner, phone, secondsAgo: 50)], from: .feed)
        bench.pass(61)
        let notification = try #require(bench.kept.last).notification
        #expect(bench.kept.count == 2)
        #expect(!notification.sealed.isEmpty && notification.body.isEmpty)
        #expect(sealer.given.withLock { $0.last?.notification.body } == "second")
    }

    private static let night = #","quiet":{"start":"23:00","end":"07:00","tz":"Z"}"#

    @Test(arguments: [1, 2])
    func whatIsUnwantedByNowIsNotSentIfItIsAlone(count: Int) throws {
        let bench = try Workbench.paced()
        let owner = try bench.account(["mention", "reaction"], further: Self.night)
        let held = try (0..<count).map { try bench.note(to: owner, "\($0)") }
        bench.submit(held)
        #expect(bench.count(.held) == 1)
        let content = Workbench.content(["reaction"], further: Self.night)
        bench.submit([try bench.registration(of: owner, content, secondsAgo: 50)], from: .feed)
        #expect(bench.count(.unwanted) == (count == 1 ? 1 : 0))
        #expect(try bench.rows().held == count - 1)
        bench.pass(86_400)
        #expect(bench.kept.map(\.notification.count) == (count == 1 ? [] : [2]))
        #expect(bench.observed.steps.contains { $0.step == .unwanted && $0.reason == "mention" } == (count == 1))
    }

    @Test func whatIsUnwantedByNowStaysSoThoughTheDiskRefuses() throws {
        let bench = try Workbench.paced()
        let owner = try bench.account(["mention", "reaction"], further: Self.night)
        bench.submit([try bench.note(to: owner)])
        let content = Workbench.content(["reaction"], further: Self.night)
        bench.diskIsFull = true
        bench.submit([try bench.registration(of: owner, content, secondsAgo: 50)], from: .feed)
        #expect(try bench.rows().held == 1)
        bench.diskIsFull = false
        bench.pass(2)
        #expect(try bench.rows().held == 0)
        bench.pass(86_400)
        #expect(bench.kept.isEmpty)
    }

    @Test func whatNoRuleRaisesAnyMoreIsWantedStill() throws {
        let rules = "version: 1\nrules:\n  - { match: { kinds: [1] }, signal: news, title: hello }\n"
        let bench = try Workbench(rules: RuleBook(yaml: rules, name: "test"), pacing: PacingPolicy())
        let owner = try bench.account(["news"], further: Self.night)
        bench.submit([try bench.note(to: owner)])
        #expect(bench.count(.held) == 1)
        try bench.restart(rules: RuleBook.builtIn())
        bench.pass(86_400)
        #expect(bench.kept.count == 1)
    }
}
