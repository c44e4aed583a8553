import Cipher
import Core
import Delivery
import Nostr
import Pipeline
import Push
import Registry
import Testing
import TimeTestSupport

/// Events from relays: duplicates, old events and requested events.
@Suite struct RelayEventTests {
    private let bench: Workbench
    private let alice: KeyPair

    init() throws {
        bench = try Workbench()
        alice = try Workbench.keys()
    }

    private func p(_ keys: KeyPair) -> [String] { ["p", keys.publicKey.hex] }

    @Test func fiveCopiesInOneBatchSendOnePush() throws {
        let owner = try bench.account()
        let wrap = try bench.wrap(to: owner)
        let answers = bench.arrive(Array(repeating: ([wrap], .relay(.live)), count: 5))
        #expect(answers.map(\.results) == [[.accepted]] + Array(repeating: [.duplicate], count: 4))
        #expect(bench.kept.count == 1)
        #expect(bench.count(.duplicate) == 4)
    }

    @Test func copiesInLaterBatchesAndAfterARestartSendNoPush() throws {
        let owner = try bench.account()
        let wrap = try bench.wrap(to: owner)
        for reading in [RelayReading.live, .stored, .live, .baseline] { bench.submit([wrap], from: .relay(reading)) }
        try bench.restart()
        #expect(bench.submit([wrap], from: .relay(.stored)).map(\.result) == [.duplicate])
        #expect(bench.kept.count == 1)
    }

    @Test func aFurtherCopyNeedNotBeVerified() throws {
        let owner = try bench.account()
        let wrap = try bench.wrap(to: owner)
        var copy = wrap
        copy.signature.first = Bytes32(words: (1, 2, 3, 4))
        #expect(bench.submit([wrap, copy], from: .relay(.live)).map(\.result) == [.accepted, .duplicate])
        #expect(bench.submit([copy], from: .relay(.live)).map(\.result) == [.duplicate])
        #expect(bench.count(.forged) == 0)
    }

    @Test func fullDiskDefersAllCopies() throws {
        let owner = try bench.account()
        let wrap = try bench.wrap(to: owner)
        bench.diskIsFull = true
        let refused = bench.submit([wrap, wrap], from: .relay(.live))
        #expect(refused.map(\.result.isFinal) == [false, false])
        bench.diskIsFull = false
        #expect(bench.submit([wrap, wrap], from: .relay(.stored)).map(\.result) == [.accepted, .duplicate])
        #expect(bench.kept.count == 1)
    }

    @Test func invalidEventGetsAFinalVerdict() throws {
        let owner = try bench.account()
        var forged = try bench.wrap(to: owner)
        forged.signature.first = Bytes32(words: (1, 2, 3, 4))
        let decisions = bench.submit([forged.json, [0xFF], Array("{}".utf8)], from: .relay(.stored))
        #expect(decisions.map(\.result.isFinal) == [true, true, true])
        #expect(decisions.allSatisfy { $0.result != .accepted })
    }

    @Test func unaddressedEventIsDroppedUnverified() throws {
        var forged = try bench.event(.textNote, tags: [p(alice)], by: alice)
        forged.signature.first = Bytes32(words: (1, 2, 3, 4))
        for reading in [RelayReading.live, .stored, .baseline] {
            #expect(bench.submit([forged], from: .relay(reading)).map(\.result) == [.accepted])
        }
        #expect(bench.count(.unaddressed) == 3)
    }

    @Test func eventBeforeTheRegistrationSendsNoPush() throws {
        let owner = try bench.account()
        let old = try bench.event(.textNote, "old", tags: [p(owner)], by: alice, at: Workbench.time - 101)
        let new = try bench.event(.textNote, "new", tags: [p(owner)], by: alice, at: Workbench.time - 100)
        #expect(bench.submit([old, new], from: .relay(.stored)).allSatisfy { $0.result == .accepted })
        #expect(bench.kept.map(\.notification.body) == ["new"])
        #expect(bench.count(.beforeRegistration) == 1)
    }

    @Test func eventBeforeADeviceRegistersAgainSendsAPush() throws {
        let owner = try bench.account()
        bench.submit([try bench.registration(of: owner, Workbench.content(), secondsAgo: 10)], from: .relay(.stored))
        let note = try bench.event(.textNote, "late", tags: [p(owner)], by: alice, at: Workbench.time - 50)
        bench.submit([note], from: .relay(.stored))
        #expect(bench.kept.map(\.notification.body) == ["late"])
    }

    @Test func liveCopyInABatchWithABaselineCopySendsAPush() throws {
        let owner = try bench.account(mode: "wake")
        let note = try bench.event(.textNote, "hello", tags: [p(owner)], by: alice)
        let answers = bench.arrive([([note], .relay(.baseline)), ([note], .relay(.live)), ([note], .relay(.live))])
        #expect(answers.map { $0.results } == [[.accepted], [.accepted], [.duplicate]])
        #expect(bench.kept.count == 1)
    }

    @Test func baselineListIsHandledOnceItIsOnDisk() throws {
        let owner = try bench.account()
        let list = try bench.event(.contactList, tags: [p(owner)], by: alice)
        try bench.lockRegistry(true)
        for _ in 0..<2 {
            #expect(bench.submit([list], from: .relay(.baseline)).map(\.result.isFinal) == [false])
        }
        try bench.lockRegistry(false)
        #expect(bench.submit([list], from: .relay(.baseline)).map(\.result) == [.accepted])
        #expect(bench.submit([list], from: .relay(.live)).map(\.result) == [.duplicate])
        #expect(bench.kept.isEmpty)
    }

    @Test func copiesOfAListThatWasAskedForShareItsEnd() throws {
        let owner = try bench.account()
        let list = try bench.event(.relayList, tags: [["r", "wss://relay.example.com"]], by: owner)
        try bench.lockRegistry(true, table: "lists")
        let decisions = bench.submit([list, list], from: .relay(.fetched))
        #expect(decisions.map(\.result.isFinal) == [false, false])
        try bench.lockRegistry(false)
        #expect(bench.submit([list, list], from: .relay(.fetched)).map(\.result) == [.accepted, .duplicate])
    }

    @Test(arguments: [EventSource.socket(authenticated: []), .feed, .relay(.live)])
    func liveEventFromASlowClockSendsAPush(source: EventSource) throws {
        let owner = try bench.account()
        for (age, body) in [(601, "old"), (600, "slow"), (101, "less slow")] as [(Int64, String)] {
            let note = try bench.event(.textNote, body, tags: [p(owner)], by: alice, at: Workbench.time - age)
            #expect(bench.submit([note], from: source).map(\.result) == [.accepted])
        }
        #expect(bench.kept.map(\.notification.body) == ["slow", "less slow"])
        #expect(bench.count(.beforeRegistration) == 1)
    }

    @Test func oldNoteBroadcastAgainSendsNoPush() throws {
        let owner = try bench.account()
        let note = try bench.event(.textNote, tags: [p(owner)], by: alice, at: Workbench.time - 101)
        bench.clock.advance(by: .minutes(10))
        bench.submit([note], from: .relay(.live))
        #expect(bench.kept.isEmpty)
        #expect(bench.count(.beforeRegistration) == 1)
    }

    @Test func everyDeviceHasItsOwnRegistrationTime() throws {
        let owner = try bench.account(mode: "wake")
        let tablet = try bench.registration(of: owner, Workbench.content(), device: "tablet", secondsAgo: 10)
        bench.submit([tablet], from: .relay(.stored))
        let note = try bench.event(.textNote, tags: [p(owner)], by: alice, at: Workbench.time - 50)
        bench.submit([note], from: .relay(.stored))
        #expect(bench.kept.map(\.notification.mode) == [.wake])
    }

    @Test func eventDatedAheadSendsAPush() throws {
        let owner = try bench.account()
        let note = try bench.event(.textNote, tags: [p(owner)], by: alice, at: Workbench.time + 900)
        #expect(bench.submit([note], from: .relay(.live)).map(\.result) == [.accepted])
        #expect(bench.kept.count == 1)
    }

    @Test func expiredEventsSendNoPush() throws {
        let owner = try bench.account()
        let tags = [p(owner), ["expiration", String(Workbench.time)]]
        bench.submit([try bench.event(.textNote, tags: tags, by: alice)], from: .relay(.live))
        #expect(bench.kept.isEmpty)
        #expect(bench.count(.expired) == 1)
    }

    @Test func anEventOfADeviceOfTheAccountIsItsOwn() throws {
        let (owner, device) = (try bench.account(), try Workbench.keys())
        let tags = [p(owner), ["root_identity", owner.publicKey.hex]]
        let before = try bench.event(.textNote, "before", tags: tags, by: device)
        let list = try bench.event(.deviceList, tags: [["device", device.publicKey.hex]], by: owner)
        let after = try bench.event(.textNote, "after", tags: tags, by: device)
        bench.submit([before, list, after], from: .relay(.live))
        #expect(bench.kept.map(\.notification.body) == ["before"])
        #expect(bench.count(.own) == 1)
    }

    @Test func oldestContactListOfSeveralSendsNoPushInAnyOrder() throws {
        let owner = try bench.account()
        try bench.registry.markFollowsRead([owner.publicKey])
        let older = try bench.event(.contactList, tags: [p(owner)], by: alice, at: Workbench.time - 10)
        let newer = try bench.event(.contactList, tags: [p(owner), p(alice)], by: alice, at: Workbench.time - 5)
        bench.submit([newer, older], from: .relay(.stored))
        bench.submit([older], from: .relay(.stored))
        #expect(bench.kept.map(\.notification.signal) == [.follow])
        #expect(bench.count(.knownFollow) == 1)
    }

    @Test func aContactListOfTheBaselineIsRememberedAndNoFollow() throws {
        let owner = try bench.account()
        try bench.registry.markFollowsRead([owner.publicKey])
        let first = try bench.event(.contactList, tags: [p(owner)], by: alice, at: Workbench.time - 10)
        let second = try bench.event(.contactList, tags: [p(owner), p(alice)], by: alice)
        #expect(bench.submit([first], from: .relay(.baseline)).map(\.result) == [.accepted])
        #expect(bench.submit([second], from: .relay(.live)).map(\.result) == [.accepted])
        #expect(bench.kept.isEmpty)
        #expect(bench.count(.baseline) == 1 && bench.count(.knownFollow) == 1)
    }

    @Test func baselineNoteStillSendsAPushFromAnotherRelay() throws {
        let owner = try bench.account()
        let note = try bench.event(.textNote, tags: [p(owner)], by: alice)
        #expect(bench.submit([note], from: .relay(.baseline)).map(\.result) == [.accepted])
        #expect(bench.kept.isEmpty)
        #expect(bench.submit([note], from: .relay(.stored)).map(\.result) == [.accepted])
        #expect(bench.kept.count == 1)
    }

    @Test func fetchedEventsAreLearnedAndSendNoPush() throws {
        let owner = try bench.account()
        let profile = try bench.event(.profile, #"{"name":"alice"}"#, by: alice)
        let note = try bench.event(.textNote, "hello", tags: [p(owner)], by: alice)
        #expect(bench.submit([profile, note], from: .relay(.fetched)).allSatisfy { $0.result == .accepted })
        #expect(bench.kept.isEmpty)
        // A requested event does not count as old.
        #expect(bench.submit([note], from: .relay(.live)).map(\.result) == [.accepted])
        #expect(bench.kept.map(\.notification.title) == ["💬 alice sent you a note"])
    }

    @Test func forgedFetchedEventsAreNotLearned() throws {
        let owner = try bench.account()
        var profile = try bench.event(.profile, #"{"name":"alice"}"#, by: alice)
        profile.content = #"{"name":"mallory"}"#
        bench.submit([profile], from: .relay(.fetched))
        bench.submit([try bench.event(.textNote, "hello", tags: [p(owner)], by: alice)], from: .relay(.live))
        let stand = alice.publicKey.hex.prefix(8) + "..."
        #expect(bench.kept.map(\.notification.title) == ["💬 \(stand) sent you a note"])
        #expect(bench.count(.forged) == 1)
    }
}
