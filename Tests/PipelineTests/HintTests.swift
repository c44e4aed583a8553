import Cipher
import Core
import Delivery
import Nostr
import Push
import Testing
import TimeTestSupport

@testable import Pipeline

/// Wake-up hints of partners (kind 20062).
@Suite struct HintTests {
    private let bench: Workbench
    private let observer = FakeHintObserver()
    private let partner: KeyPair
    private let owner: KeyPair

    init() throws {
        bench = try Workbench(dependencies: PipelineDependencies(hintHeard: observer.heard))
        partner = try Workbench.keys()
        owner = try bench.account(mode: "alert", partners: [partner.publicKey])
    }

    private func hint(
        _ type: String? = "dm",
        root: PublicKey? = nil,
        by keys: KeyPair? = nil,
        secondsAgo: Int64 = 0,
        number: Int = 0
    ) throws -> Event {
        var tags = [["p", owner.publicKey.hex], ["n", String(number)]]
        if let type { tags.append(["t", type]) }
        if let root { tags.append(["root_identity", root.hex]) }
        return try bench.event(.wakeUpHint, tags: tags, by: keys ?? partner, at: Workbench.time - secondsAgo)
    }

    @Test func partnersHintSendsASilentPush() throws {
        #expect(bench.submit([try hint()]).map(\.result) == [.accepted])
        #expect(bench.kept.map(\.notification) == [.wake(.dm, urgency: .high)])
        let heard = FakeHintObserver.Heard(
            account: owner.publicKey,
            partner: partner.publicKey,
            moment: Workbench.start
        )
        #expect(observer.all == [heard])
    }

    @Test func hintSendsOnePushEvenAfterARestart() throws {
        let hint = try hint()
        bench.submit([hint, hint], from: .relay(.live))
        try bench.restart()
        bench.submit([hint])
        #expect(bench.kept.count == 1)
    }

    @Test func strangersHintsSendNoPushAndAreAccepted() throws {
        let stranger = try Workbench.keys()
        let decisions = bench.submit([
            try hint(by: stranger), try hint(root: stranger.publicKey, by: stranger),
            try hint(root: partner.publicKey, by: stranger),
        ])
        #expect(decisions.allSatisfy { $0.result == .accepted })
        #expect(bench.kept.isEmpty)
        #expect(observer.all.isEmpty)
        #expect(bench.count(.hintUnproven) == 3)
    }

    @Test func partnersDeviceRequiresThePartnersDeviceList() throws {
        let device = try Workbench.keys()
        bench.submit([try hint(root: partner.publicKey, by: device, number: 1)], from: .relay(.live))
        #expect(bench.kept.isEmpty)
        let list = try bench.event(.deviceList, tags: [["device", device.publicKey.hex]], by: partner)
        bench.submit([list, try hint(root: partner.publicKey, by: device, number: 2)], from: .relay(.live))
        #expect(bench.kept.count == 1)
        let revoked = try bench.event(.deviceList, tags: [["device"]], by: partner, at: Workbench.time + 1)
        bench.submit([revoked, try hint(root: partner.publicKey, by: device, number: 3)], from: .relay(.live))
        #expect(bench.kept.count == 1)
    }

    @Test func staleHintsAndHintsWithoutASignalSendNoPush() throws {
        bench.submit([
            try hint(secondsAgo: 601), try hint(secondsAgo: -601), try hint(nil), try hint(""),
            try bench.event(
                .wakeUpHint,
                tags: [["p", owner.publicKey.hex], ["t", "dm"], ["root_identity", "x"]],
                by: partner
            ),
        ])
        #expect(bench.kept.isEmpty)
        #expect(bench.count(.hintStale) == 5)
        #expect(observer.all.isEmpty)
    }

    @Test func aFloodIsCutOffAndThePartnerCountsAsAlive() throws {
        bench.submit(try (0..<30).map { try hint(number: $0) }, from: .relay(.live))
        #expect(bench.kept.count == 10)
        #expect(bench.count(.hintLimited) == 20)
        #expect(observer.all.count == 30)
        bench.clock.advance(by: .seconds(30))
        bench.submit(try (30..<33).map { try hint(number: $0) }, from: .relay(.live))
        #expect(bench.kept.count == 11)
    }

    @Test func falseClaimOfPartnershipUsesNoPartnersShare() throws {
        let stranger = try Workbench.keys()
        bench.submit(try (0..<30).map { try hint(root: partner.publicKey, by: stranger, number: $0) })
        bench.submit([try hint()])
        #expect(bench.kept.count == 1)
    }

    @Test func onlyDevicesThatListThePartnerAndWantTheSignalAreWoken() throws {
        let tablet = try bench.registration(of: owner, Workbench.content(mode: "wake"), device: "tablet")
        bench.submit([tablet, try hint("reply", number: 1), try hint("zap", number: 2)])
        #expect(bench.kept.map(\.notification) == [.wake(.reply, urgency: .normal)])
        #expect(bench.count(.unwanted) == 1)
    }

    @Test func baselineHintsAndUnwantedHintsSendNoPush() throws {
        bench.submit([try hint()], from: .relay(.baseline))
        #expect(bench.kept.isEmpty)
        let deaf = try Workbench()
        let account = try deaf.account(partners: [partner.publicKey])
        let tags = [["p", account.publicKey.hex], ["t", "dm"]]
        #expect(deaf.submit([try deaf.event(.wakeUpHint, tags: tags, by: partner)]).map(\.result) == [.accepted])
        #expect(deaf.kept.isEmpty)
    }

    @Test func hintForTooManyRecipientsSendsNoPush() throws {
        let others = try (0..<8).map { _ in try bench.account(mode: "wake", partners: [partner.publicKey]) }
        let tags = ([owner] + others).map { ["p", $0.publicKey.hex] }
        bench.submit([try bench.event(.wakeUpHint, tags: tags + [["t", "dm"]], by: partner)])
        #expect(bench.kept.isEmpty)
        bench.submit([try bench.event(.wakeUpHint, tags: tags.dropLast() + [["t", "dm"]], by: partner)])
        #expect(bench.kept.count == 8)
    }

    @Test func aHintThatCannotBeKeptMayComeAgain() throws {
        let hint = try hint()
        bench.diskIsFull = true
        #expect(bench.submit([hint]).map(\.result.isFinal) == [false])
        bench.diskIsFull = false
        #expect(bench.submit([hint]).map(\.result) == [.accepted])
        #expect(bench.kept.count == 1)
    }
}

@Suite struct HintLimiterTests {
    private let partner = PublicKey(Bytes32(words: (1, 1, 1, 1)))
    private let account = PublicKey(Bytes32(words: (2, 2, 2, 2)))
    private let other = PublicKey(Bytes32(words: (3, 3, 3, 3)))

    private func limiter(pairs: Int = 10) -> HintLimiter {
        HintLimiter(limits: HintLimiter.Limits(tolerance: .minutes(10), burst: 3, interval: .seconds(1), pairs: pairs))
    }

    /// Returns the limiter's results for hints of a pair, in order.
    private func says(
        _ limiter: inout HintLimiter,
        _ partner: PublicKey,
        _ account: PublicKey,
        at times: Timestamp...
    ) -> [Bool] {
        times.map { limiter.admits(partner, for: account, at: $0) }
    }

    @Test func aHintIsFreshForTenMinutesBothWays() {
        let limiter = limiter()
        let dates: [Int64] = [999_399, 999_400, 1_000_600, 1_000_601]
        #expect(dates.map { limiter.isFresh($0, at: 1_000_000_999) } == [false, true, true, false])
    }

    @Test func aBurstPassesAndThenOneAnInterval() {
        var limiter = limiter()
        let first = says(&limiter, partner, account, at: 0, 0, 0, 0, 999, 1000, 1000)
        #expect(first == [true, true, true, false, false, true, false])
        let afterAPause = says(&limiter, partner, account, at: 9000, 9000, 9000, 9000)
        #expect(afterAPause == [true, true, true, false])
    }

    @Test func everyPairHasABurstOfItsOwn() {
        var limiter = limiter()
        _ = says(&limiter, partner, account, at: 0, 0, 0, 0)
        let others = says(&limiter, partner, other, at: 0) + says(&limiter, other, account, at: 0)
        #expect(others == [true, true])
    }

    @Test func memoryIsBoundedAndFreesItself() {
        var limiter = limiter(pairs: 1)
        let all = says(&limiter, partner, account, at: 0) + says(&limiter, other, account, at: 500, 1000)
        #expect(all == [true, false, true])
    }

    @Test func clockThatIsSetBackDoesNotBlockPartners() {
        var limiter = limiter()
        let all = says(&limiter, partner, account, at: 1_000_000, 1_000_000, 1_000_000, 0)
        #expect(all == [true, true, true, true])
    }

    @Test func theLargestDatesAreNoTrap() {
        let limiter = limiter()
        #expect(!limiter.isFresh(.max, at: 1_000_000))
        #expect(!limiter.isFresh(.min, at: 1_000_000))
    }
}
