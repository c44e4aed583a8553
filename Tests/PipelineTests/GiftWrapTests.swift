import Cipher
import Delivery
import Nostr
import Pipeline
import Push
import Testing

/// Gift wraps (NIP-59) are backdated and signed with random keys: they show neither age nor author.
@Suite struct GiftWrapTests {
    private let bench: Workbench

    init() throws {
        bench = try Workbench()
    }

    @Test func giftWrapDatedBeforeTheRegistrationSendsAPush() throws {
        let owner = try bench.account()
        bench.submit([try bench.wrap(to: owner)], from: .relay(.live))
        #expect(bench.kept.map(\.notification.signal) == [.dm])
    }

    @Test func baselineEventsSendNoPushAndStoredAndLiveOnesDo() throws {
        let owner = try bench.account()
        for reading in [RelayReading.baseline, .stored, .live] {
            #expect(bench.submit([try bench.wrap(to: owner)], from: .relay(reading)).map(\.result) == [.accepted])
        }
        #expect(bench.kept.count == 2)
        #expect(bench.causes.count == 3)
    }

    @Test func giftWrapsOfTwoDaysSendNoPushAfterARestart() throws {
        let owner = try bench.account()
        let deaf = try bench.account(["mention"])
        let wraps = [
            try bench.wrap(to: owner, "baseline"), try bench.wrap(to: owner, "stored"),
            try bench.wrap(to: owner, "live"),
            try bench.wrap(to: deaf, "unwanted"),
        ]
        for (wrap, reading) in zip(wraps, [RelayReading.baseline, .stored, .live, .live]) {
            bench.submit([wrap], from: .relay(reading))
        }
        #expect(bench.kept.count == 2)
        try bench.restart()
        bench.submit([try bench.registration(of: deaf, Workbench.content(["dm"]), secondsAgo: 1)])
        let decisions = bench.submit(wraps, from: .relay(.stored))
        #expect(decisions.map(\.result) == Array(repeating: .duplicate, count: 4))
        #expect(bench.kept.count == 2)
    }

    @Test func aBaselineThatCannotBeKeptIsReadAgain() throws {
        let owner = try bench.account()
        let wrap = try bench.wrap(to: owner)
        bench.diskIsFull = true
        #expect(bench.submit([wrap], from: .relay(.baseline)).map(\.result.isFinal) == [false])
        bench.diskIsFull = false
        #expect(bench.submit([wrap], from: .relay(.baseline)).map(\.result) == [.accepted])
        #expect(bench.causes == [wrap.id])
        #expect(bench.kept.isEmpty)
    }

    @Test func accountAuthenticatedOnTheSocketGetsNoPushOfItsOwnCopy() throws {
        let (owner, friend) = (try bench.account(), try bench.account())
        let socket = EventSource.socket(authenticated: [owner.publicKey])
        let copy = try bench.wrap(to: owner)
        bench.submit([copy, try bench.wrap(to: friend)], from: socket)
        #expect(bench.kept.count == 1)
        #expect(bench.count(.own) == 1)
        // His copy also goes to relays, and comes back from there.
        bench.submit([copy], from: .relay(.live))
        try bench.restart()
        bench.submit([copy], from: .relay(.stored))
        #expect(bench.kept.count == 1)
    }

    @Test func authenticatedDeviceActsForItsRoot() throws {
        let (owner, device) = (try bench.account(), try Workbench.keys())
        let socket = EventSource.socket(authenticated: [device.publicKey])
        bench.submit([try bench.wrap(to: owner)], from: socket)
        #expect(bench.kept.count == 1)
        let list = try bench.event(.deviceList, tags: [["device", device.publicKey.hex]], by: owner)
        bench.submit([list, try bench.wrap(to: owner)], from: socket)
        #expect(bench.kept.count == 1)
        #expect(bench.count(.own) == 1)
    }

    @Test func giftWrapSignedByTheAccountIsItsOwn() throws {
        let owner = try bench.account()
        let wrap = try bench.event(.giftWrap, tags: [["p", owner.publicKey.hex]], by: owner)
        bench.submit([wrap], from: .relay(.live))
        #expect(bench.kept.isEmpty)
        #expect(bench.count(.own) == 1)
    }

    @Test func onlyGiftWrapsToAMessageKeyAreForItsAccount() throws {
        let (owner, key) = (try bench.account(), try Workbench.keys())
        let list = try bench.event(.deviceList, tags: [["dm_key", key.publicKey.hex]], by: owner)
        let note = try bench.event(.textNote, tags: [["p", key.publicKey.hex]], by: try Workbench.keys())
        bench.submit([list, try bench.wrap(to: key), note], from: .relay(.live))
        #expect(bench.kept.map(\.notification.signal) == [.dm])
        #expect(bench.count(.unaddressed) == 1)
    }
}
