import Delivery
import Nostr
import Notifications
import Testing

@testable import Pipeline

/// Devices that are registered anew while something is under way to them, or waits for them.
@Suite struct RegisteredAnewTests {
    /// A phone that has one push under way, and the content it registered with.
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
        // How the first one ends, in whatever queue, changes nothing.
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
}
