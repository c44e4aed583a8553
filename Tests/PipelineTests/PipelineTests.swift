import Cipher
import Core
import Delivery
import Nostr
import Push
import Registry
import Rules
import Testing
import TimeTestSupport

@testable import Pipeline

@Suite struct PipelineTests {
    private let bench: Workbench
    private let alice: KeyPair

    init() throws {
        bench = try Workbench()
        alice = try KeyPair(random: SecureRandom.bytes)
    }

    private func p(_ keys: KeyPair) -> [String] { ["p", keys.publicKey.hex] }

    @Test func registrationCountsForTheNextEventOfTheSameBatch() throws {
        let owner = try KeyPair(random: SecureRandom.bytes)
        let content =
            "{\"token\":\"\(String(repeating: "ab", count: 32))\",\"platform\":\"ios\",\"filters\":{\"dm\":true}}"
        let decisions = bench.submit([
            try bench.registration(of: owner, content),
            try bench.event(.giftWrap, "x", tags: [p(owner)], by: alice),
        ])
        #expect(decisions.map(\.result) == [.accepted, .accepted])
        #expect(bench.kept.map(\.notification) == [.wake(.dm, urgency: .high)])
        #expect(bench.kept.first?.platform == "ios")
    }

    @Test func ineffectiveRegistrationNamesItsReason() throws {
        let owner = try KeyPair(random: SecureRandom.bytes)
        let content = "{\"token\":\"\(String(repeating: "ab", count: 32))\",\"platform\":\"ios\"}"
        let old = try bench.registration(of: owner, content, secondsAgo: 100)
        let new = try bench.registration(of: owner, content, secondsAgo: 50)
        #expect(bench.submit([new, new]).map(\.result) == [.accepted, .duplicate])
        #expect(bench.submit([old]).map(\.result) == [.refused(RegistrationResult.outdated.message)])
        #expect(bench.count(.registrationRefused) == 0)
    }

    @Test func everyNotifiableKindSendsOnePush() throws {
        let owner = try bench.account()
        let note = String(repeating: "0f", count: 32)
        let events = [
            try bench.event(.textNote, "hello", tags: [["e", note, "", "reply"], p(owner)], by: alice),
            try bench.event(.contactList, tags: [p(owner)], by: alice),
            try bench.event(.repost, tags: [["e", note], p(owner)], by: alice),
            try bench.event(.reaction, "+", tags: [["e", note], p(owner)], by: alice),
            try bench.event(.giftWrap, "x", tags: [p(owner)], by: alice),
            try bench.event(.audioNote, "x", tags: [p(owner)], by: alice),
            try bench.event(.audioRepost, tags: [["e", note], p(owner)], by: alice),
        ]
        #expect(bench.submit(events).allSatisfy { $0.result == .accepted })
        #expect(
            bench.kept.map(\.notification.signal) == [.reply, .follow, .repost, .reaction, .dm, .mention, .repost]
        )
        #expect(bench.kept.allSatisfy { $0.notification.mode == .alert })
        #expect(Set(bench.kept.map(\.id)).count == 7)
        let stand = alice.publicKey.hex.prefix(8) + "..."
        #expect(bench.kept.first?.notification.title == "💬 \(stand) sent you a note")
    }

    @Test func sameEventIsAcceptedOnceInOneBatchAndLater() throws {
        let owner = try bench.account()
        let event = try bench.event(.giftWrap, "x", tags: [p(owner)], by: alice)
        #expect(bench.submit([event, event]).map(\.result) == [.accepted, .duplicate])
        #expect(bench.submit([event]).map(\.result) == [.duplicate])
        #expect(bench.kept.count == 1)
    }

    @Test func eventDatedTooFarAheadIsAcceptedWhenResentInTime() throws {
        let owner = try bench.account()
        let (near, far) = (
            try bench.event(.textNote, "soon", tags: [p(owner)], by: alice, at: Workbench.time + 900),
            try bench.event(.textNote, "later", tags: [p(owner)], by: alice, at: Workbench.time + 901)
        )
        let strangers = try bench.event(.textNote, "later", by: alice, at: Workbench.time + 901)
        let refusal = EventDecision.Result.refused("invalid: created_at: expected at most 900 seconds ahead of now")
        // The recipients make no difference to the response.
        #expect(bench.submit([near, far, strangers]).map(\.result) == [.accepted, refusal, refusal])
        #expect(bench.kept.count == 1 && bench.count(.ahead) == 2)
        #expect(bench.submit([far], from: .relay(.live)).map(\.result) == [refusal])
        bench.clock.advance(by: .seconds(1))
        #expect(bench.submit([far], from: .relay(.stored)).map(\.result) == [.accepted])
        #expect(bench.kept.count == 2)
    }

    @Test func forgedCopyDoesNotSuppressTheRealEvent() throws {
        let owner = try bench.account()
        let event = try bench.event(.giftWrap, "x", tags: [p(owner)], by: alice)
        var forged = event
        forged.signature.first = Bytes32(words: (1, 2, 3, 4))
        #expect(
            bench.submit([forged]).first?.result == .refused("invalid: sig must be a signature of the id by pubkey")
        )
        #expect(bench.submit([event]).first?.result == .accepted)
        #expect(bench.kept.count == 1)
        #expect(bench.count(.forged) == 1)
    }

    @Test func eventThatCannotBeStoredIsNotAcceptedAndMayBeResent() throws {
        let owner = try bench.account()
        let wrap = try bench.event(.giftWrap, "x", tags: [p(owner)], by: alice)
        let follow = try bench.event(.contactList, tags: [p(owner)], by: alice)
        bench.diskIsFull = true
        let decisions = bench.submit([wrap, follow])
        #expect(decisions.allSatisfy { $0.result == .refused("error: could not be kept, try again later") })
        bench.diskIsFull = false
        #expect(bench.submit([wrap, follow]).allSatisfy { $0.result == .accepted })
        #expect(bench.kept.map(\.notification.signal) == [.dm, .follow])
    }

    @Test func copiesOfAnUnstorableEventAreNotAccepted() throws {
        let owner = try bench.account()
        let wrap = try bench.event(.giftWrap, "x", tags: [p(owner)], by: alice)
        bench.diskIsFull = true
        let decisions = bench.submit([wrap, wrap])
        #expect(decisions.allSatisfy { $0.result == .refused("error: could not be kept, try again later") })
    }

    @Test func eventResentAfterARestartSendsNoPush() throws {
        let owner = try bench.account()
        let wrap = try bench.event(.giftWrap, "x", tags: [p(owner)], by: alice)
        let own = try bench.event(.giftWrap, "y", tags: [p(owner)], by: owner)
        bench.submit([wrap, own])
        #expect(bench.causes == [wrap.id, own.id])
        try bench.restart()
        #expect(bench.submit([wrap, own]).map(\.result) == [.duplicate, .duplicate])
        #expect(bench.kept.count == 1)
    }

    @Test func followsThatCannotBeRememberedYetAreRememberedLater() throws {
        let owner = try bench.account()
        let first = try bench.event(.contactList, tags: [p(owner)], by: alice)
        let second = try bench.event(.contactList, tags: [p(owner), p(alice)], by: alice, at: Workbench.time + 1)
        try bench.lockRegistry(true)
        #expect(bench.submit([first]).map(\.result) == [.accepted])
        #expect(bench.submit([second]).map(\.result) == [.refused("error: could not be kept, try again later")])
        try bench.lockRegistry(false)
        #expect(bench.submit([first]).map(\.result) == [.duplicate])
        #expect(bench.submit([second]).map(\.result) == [.accepted])
        #expect(bench.kept.map(\.notification.signal) == [.follow])
        #expect(bench.count(.knownFollow) == 1)
    }

    @Test func onlyTheSocketVerifiesUnaddressedEvents() throws {
        var forged = try bench.event(.textNote, "x", tags: [["p", String(repeating: "ab", count: 32)]], by: alice)
        forged.signature.first = Bytes32(words: (1, 2, 3, 4))
        #expect(bench.submit([forged], from: .feed).first?.result == .accepted)
        #expect(bench.count(.unaddressed) == 1)
        #expect(bench.submit([forged], from: .socket(authenticated: [])).first?.result != .accepted)
    }

    @Test func malformedEventIsRefusedAndTheRestOfTheBatchIsNot() throws {
        let owner = try bench.account()
        let good = try bench.event(.giftWrap, "x", tags: [p(owner)], by: alice)
        let decisions = bench.submit([Array("{\"id\":1}".utf8), good.json, [0xFF, 0x00]])
        #expect(decisions.map { $0.result == .accepted } == [false, true, false])
        #expect(bench.count(.malformed) == 2)
        #expect(bench.kept.count == 1)
    }

    @Test func ownAndExpiredEventsSendNoPush() throws {
        let owner = try bench.account()
        bench.submit([
            try bench.event(.giftWrap, "x", tags: [p(owner)], by: owner),
            try bench.event(.giftWrap, "x", tags: [p(owner), ["expiration", String(Workbench.time - 1)]], by: alice),
        ])
        #expect(bench.kept.isEmpty)
        #expect(bench.count(.own) == 1 && bench.count(.expired) == 1)
    }

    @Test func disabledSignalsSendNoPush() throws {
        let owner = try bench.account(["dm"])
        bench.submit([
            try bench.event(.reaction, "+", tags: [["e", String(repeating: "0f", count: 32)], p(owner)], by: alice)
        ])
        #expect(bench.kept.isEmpty)
        #expect(bench.count(.unwanted) == 1)
    }

    @Test func everyDeviceOfAnAccountIsNotifiedInItsMode() throws {
        let owner = try bench.account(mode: "alert")
        let tablet =
            "{\"token\":\"\(String(repeating: "cd", count: 32))\",\"platform\":\"ios\",\"filters\":{\"dm\":true}}"
        bench.submit([try bench.registration(of: owner, tablet, device: "tablet")])
        bench.submit([try bench.event(.giftWrap, "x", tags: [p(owner)], by: alice)])
        #expect(bench.kept.map(\.notification.mode).sorted() == [.wake, .alert])
    }

    @Test func reactionThatNamesAWholeThreadIsForTheLastNamed() throws {
        let owner = try bench.account()
        let bystander = try bench.account()
        let tags = [["e", String(repeating: "0f", count: 32)], p(bystander), p(owner)]
        bench.submit([try bench.event(.reaction, "+", tags: tags, by: alice)])
        #expect(bench.kept.count == 1)
        #expect(bench.count(.notTarget) == 1)
    }

    @Test func contactListThatAddsOthersIsNoFollow() throws {
        let owner = try bench.account()
        let first = try bench.event(.contactList, tags: [p(owner)], by: alice)
        let second = try bench.event(.contactList, tags: [p(owner), p(alice)], by: alice, at: Workbench.time + 1)
        let third = try bench.event(.contactList, tags: [p(owner)], by: alice, at: Workbench.time + 2)
        bench.submit([first, second])
        bench.submit([third])
        #expect(bench.kept.map(\.notification.signal) == [.follow])
        #expect(bench.count(.knownFollow) == 2)
    }

    @Test func profilesAndNotesSeenBeforeGiveNamesAndContext() throws {
        let owner = try bench.account()
        let profile = try bench.event(.profile, #"{"display_name":"  ","name":"alice","about":"x"}"#, by: alice)
        let note = try bench.event(.textNote, "the original note", by: owner)
        bench.submit([profile, note])
        bench.submit([try bench.event(.reaction, "❤️", tags: [["e", note.id.hex], p(owner)], by: alice)])
        let notification = try #require(bench.kept.first?.notification)
        #expect(notification.title == "⚡ alice liked your note")
        #expect(notification.data.contains("\"referenced_event_content\":\"the original note\""))
        #expect(notification.data.contains("\"referenced_event_kind\":1"))
    }

    @Test func deregistrationEndsPushes() throws {
        let owner = try bench.account()
        let farewell = try Event.signed(
            kind: .pushRegistration,
            createdAt: Workbench.time,
            tags: [["d", bench.identity.publicKey.hex + ":phone"]],
            by: owner
        )
        #expect(bench.submit([farewell]).first?.result == .accepted)
        bench.submit([try bench.event(.giftWrap, "x", tags: [p(owner)], by: alice)])
        #expect(bench.kept.isEmpty)
    }

    @Test func foreignKind10062EventIsIgnored() throws {
        let owner = try bench.account()
        let foreign = try Event.signed(
            kind: .pushRegistration,
            createdAt: Workbench.time,
            tags: [["d", String(repeating: "ab", count: 32)]],
            by: owner
        )
        #expect(bench.submit([foreign]).first?.result != .accepted)
        bench.submit([try bench.event(.giftWrap, "x", tags: [p(owner)], by: alice)])
        #expect(bench.kept.count == 1)
    }
}
