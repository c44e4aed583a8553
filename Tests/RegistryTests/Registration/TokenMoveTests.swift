import Core
import GRDB
import Nostr
import Push
import Testing
import TimeTestSupport

@testable import Registry

struct TokenMoveTests {
    @Test func aTokenMovesToTheAccountThatRegisteredItLast() throws {
        let bench = try Bench()
        let first = try bench.event(of: 1, Samples.phone("family-phone"))
        _ = try bench.registry.apply(first)
        #expect(try bench.registry.apply(bench.event(of: 2, Samples.phone("family-phone"), at: 1)).isAccepted)
        #expect(try bench.tokens(of: 1) == [])
        #expect(try bench.tokens(of: 2) == ["family-phone"])
        #expect(try bench.registry.storedEvents(of: first.pubkey) == [])
        // A relay hands the first one out again.
        let again = try bench.registry.apply(first)
        #expect(again == .ended && !again.isAccepted)
        #expect(try bench.tokens(of: 2) == ["family-phone"])
        // Its owner signs in again.
        #expect(try bench.registry.apply(bench.event(of: 1, Samples.phone("family-phone"), at: 2)).isAccepted)
        #expect(try bench.tokens(of: 1) == ["family-phone"])
        #expect(try bench.tokens(of: 2) == [])
    }

    @Test func lateOlderRegistrationDoesNotMoveTheToken() throws {
        let bench = try Bench()
        bench.clock.advance(by: .minutes(1))
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("other")))
        _ = try bench.registry.apply(bench.event(of: 2, Samples.phone("token"), at: 9))
        #expect(try bench.registry.apply(bench.event(of: 1, Samples.phone("token"), at: 5)) == .superseded)
        #expect(RegistrationResult.superseded.message != RegistrationResult.outdated.message)
        #expect(!RegistrationResult.superseded.isAccepted)
        #expect(try bench.tokens(of: 2) == ["token"])
        #expect(try bench.tokens(of: 1) == [], "the account no longer names the token it named before")
    }

    @Test func sharedTokenStaysWithAllItsAccounts() throws {
        let bench = try Bench()
        let json = Samples.phone("token", further: #","shared":true"#)
        _ = try bench.registry.apply([bench.event(of: 1, json), bench.event(of: 2, json, at: 1)])
        #expect(try bench.tokens(of: 1) == ["token"])
        #expect(try bench.tokens(of: 2) == ["token"])
        _ = try bench.registry.apply(bench.event(of: 3, Samples.phone("token"), at: 2))
        #expect(try bench.tokens(of: 1) + bench.tokens(of: 2) == [])
        #expect(try bench.tokens(of: 3) == ["token"])
    }

    @Test func registrationDatedAheadDoesNotHoldATokenLonger() throws {
        let bench = try Bench()
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("token")))
        // Another account knows the token, and dates its registration as far ahead as allowed.
        #expect(try bench.registry.apply(bench.event(of: 2, Samples.phone("token"), at: 590)).isAccepted)
        #expect(try bench.tokens(of: 2) == ["token"])
        bench.clock.advance(by: .seconds(2))
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("token"), at: 2))
        #expect(try bench.tokens(of: 1) == ["token"])
        #expect(try bench.tokens(of: 2) == [])
    }

    @Test func anEndpointMovesAsWell() throws {
        let bench = try Bench()
        _ = try bench.registry.apply(bench.event(of: 1, Samples.web()))
        _ = try bench.registry.apply(bench.event(of: 2, Samples.web(), at: 1))
        #expect(try bench.tokens(of: 1) == [])
        #expect(try bench.tokens(of: 2) == ["https://push.example.com/abc"])
    }

    @Test(arguments: [
        #"{"platform":"android","token":"family-phone"}"#, #"{"platform":"ios","app":"b","token":"family-phone"}"#,
    ])
    func theSameTextOfAnotherPlatformOrAppIsAnotherToken(other: String) throws {
        let bench = try Bench()
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("family-phone")))
        let device = try #require(try bench.registry.devices(of: bench.key(1)).first?.device)
        try bench.registry.markProven([device])
        #expect(try bench.registry.apply(bench.event(of: 2, other, at: 1)).isAccepted)
        try bench.reopen()
        #expect(try bench.tokens(of: 1) == ["family-phone"] && bench.tokens(of: 2) == ["family-phone"])
        #expect(try isProven(bench, 2) == [false], "one token's success says nothing of the other")
        // A move needs the same platform and app.
        #expect(try bench.registry.apply(bench.event(of: 3, other, at: 2)).isAccepted)
        #expect(try bench.tokens(of: 2) == [])
        #expect(try bench.tokens(of: 1) == ["family-phone"] && bench.tokens(of: 3) == ["family-phone"])
        // An account may have both as well.
        #expect(try bench.registry.apply(bench.event(of: 1, other, at: 3, device: "b")).isAccepted)
        #expect(try bench.tokens(of: 1) == ["family-phone", "family-phone"] && bench.tokens(of: 3) == [])
    }

    @Test func oneTokenUnderTwoDeviceIDsIsOneDevice() throws {
        let bench = try Bench(limits: RegistrationPolicy.Limits(devicesPerAccount: 1))
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("token")))
        // The app was reinstalled; the limit does not prevent a new registration.
        #expect(try bench.registry.apply(bench.event(of: 1, Samples.phone("token"), at: 1, device: "b")).isAccepted)
        #expect(try bench.tokens(of: 1) == ["token"])
    }

    private func isProven(_ bench: Bench, _ account: UInt8) throws -> [Bool] {
        let index = try bench.registry.load()
        return try bench.devices(of: account, in: index).compactMap { try bench.registry.address(of: $0)?.isProven }
    }

    @Test func aTokenIsProvenOnceAndWhereverItMoves() throws {
        let bench = try Bench()
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("token")))
        #expect(try isProven(bench, 1) == [false])
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("token"), at: 1))
        #expect(try isProven(bench, 1) == [false])
        let index = try bench.registry.load()
        try bench.registry.markProven(bench.devices(of: 1, in: index))
        #expect(try isProven(bench, 1) == [true])
        _ = try bench.registry.apply(bench.event(of: 1, Samples.phone("token"), at: 2))
        #expect(try isProven(bench, 1) == [true])
        _ = try bench.registry.apply(bench.event(of: 2, Samples.phone("token"), at: 3))
        #expect(try isProven(bench, 2) == [true])
        _ = try bench.registry.apply(bench.event(of: 2, Samples.phone("another"), at: 4))
        #expect(try isProven(bench, 2) == [false])
        // Deregistering leaves no row behind.
        _ = try bench.registry.apply(bench.event(of: 2, "", at: 5))
        let left = try bench.registry.store.read { try $0.one("SELECT count(*) FROM unproven_devices")?[0] as Int? }
        #expect(left == 0)
    }
}
