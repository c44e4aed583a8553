import Cipher
import Nostr
import Pipeline
import Push
import Registry
import Testing

/// Events addressed to the router itself: registrations, lists of relays and devices, NIP-46 requests.
@Suite struct RouterMailTests {
    private let bench: Workbench
    private let signer = FakeSigner()
    private let alice: KeyPair

    init() throws {
        bench = try Workbench(dependencies: PipelineDependencies(remoteSigner: signer))
        alice = try Workbench.keys()
    }

    private func request(_ content: String = "x") throws -> Event {
        try bench.event(.remoteSigning, content, tags: [["p", bench.identity.publicKey.hex]], by: try Workbench.keys())
    }

    @Test func withoutASessionARegistrationIsRefused() throws {
        let owner = try Workbench.keys()
        let event = try bench.registration(of: owner, Workbench.content())
        let refused = try #require(bench.submit([event]).first?.result)
        guard case .refused(let message) = refused else { throw Unexpected() }
        #expect(message.hasPrefix("restricted: "))
        #expect(refused.isFinal)
        #expect(bench.count(.noSession) == 1)
        signer.admit([owner])
        #expect(bench.submit([event]).map(\.result) == [.accepted])
    }

    @Test func deregistrationNeedsNoSession() throws {
        let owner = try Workbench.keys()
        signer.admit([owner])
        bench.submit([try bench.registration(of: owner, Workbench.content())])
        signer.admit([])
        let farewell = try bench.event(
            .pushRegistration,
            tags: [["d", bench.identity.publicKey.hex + ":phone"]],
            by: owner
        )
        #expect(bench.submit([farewell]).map(\.result) == [.accepted])
        bench.submit([try bench.wrap(to: owner)])
        #expect(bench.kept.isEmpty)
    }

    @Test func registrationCarriedByARequestCountsImmediately() throws {
        let owner = try Workbench.keys()
        let registration = try bench.registration(of: owner, Workbench.content())
        signer.carry(registration)
        let decisions = bench.submit([try request(), try bench.wrap(to: owner)], from: .relay(.live))
        #expect(decisions.map(\.result) == [.accepted, .accepted])
        #expect(signer.results == [.accepted])
        #expect(bench.kept.count == 1)
    }

    @Test func aForgedRegistrationInsideOfARequestIsRefused() throws {
        let owner = try Workbench.keys()
        var registration = try bench.registration(of: owner, Workbench.content())
        registration.pubkey = try Workbench.keys().publicKey
        signer.carry(registration)
        bench.submit([try request()])
        #expect(signer.results.map { $0 == .accepted } == [false])
        #expect(bench.count(.forged) == 1)
    }

    @Test func aRequestIsHandedOverOnceAndOnlyIfItIsNews() throws {
        let (first, second) = (try request("a"), try request("b"))
        _ = bench.arrive(Array(repeating: ([first], .relay(.live)), count: 3))
        bench.submit([first])
        bench.submit([second], from: .relay(.baseline))
        #expect(signer.requests == [first.id])
    }

    @Test func requestNamesItsSource() throws {
        bench.submit([try request("a")], from: .relay(.live))
        bench.submit([try request("b")], from: .feed)
        bench.submit([try request("c")])
        let names = signer.sources.map { source in
            switch source {
            case .relay: "relay"
            case .feed: "feed"
            case .socket: "socket"
            case .api: "api"
            }
        }
        #expect(names == ["relay", "feed", "socket"])
    }

    @Test func forgedRequestsAreNotHandedOver() throws {
        var forged = try request()
        forged.signature.first = Bytes32(words: (1, 2, 3, 4))
        bench.submit([forged], from: .relay(.live))
        #expect(signer.requests.isEmpty)
    }

    @Test func requestsToOtherRoutersAreIgnored() throws {
        let owner = try Workbench.keys()
        let event = try bench.event(.remoteSigning, tags: [["p", owner.publicKey.hex]], by: try Workbench.keys())
        bench.submit([event], from: .relay(.live))
        #expect(signer.requests.isEmpty)
        #expect(bench.count(.unaddressed) == 1)
    }

    @Test func rowsOfRegistrationsKeepTheirOrderAndTheirAnswers() throws {
        let owners = try (0..<4).map { _ in try Workbench.keys() }
        signer.admit(owners.dropLast())
        let events = try owners.map { try bench.registration(of: $0, Workbench.content()) }
        let broken = try bench.event(
            .pushRegistration,
            "nonsense",
            tags: [["d", bench.identity.publicKey.hex]],
            by: owners[0]
        )
        let decisions = bench.submit(events + [broken, events[0]], from: .relay(.stored))
        #expect(decisions.map { $0.result == .accepted } == [true, true, true, false, false, false])
        #expect(decisions.map(\.id) == events.map(\.id) + [broken.id, events[0].id])
        #expect(decisions.last?.result == .duplicate)
        #expect(bench.count(.registered) == 3)
    }

    @Test func registrationsForOtherRoutersAreNotVerified() throws {
        let owner = try Workbench.keys()
        var foreign = try bench.event(
            .pushRegistration,
            tags: [["d", owner.publicKey.hex], ["p", owner.publicKey.hex]],
            by: owner
        )
        foreign.signature.first = Bytes32(words: (1, 2, 3, 4))
        #expect(bench.submit([foreign], from: .relay(.live)).map(\.result) == [.accepted])
        #expect(bench.count(.unaddressed) == 1)
    }

    @Test func aListOfDevicesProvesARegistrationForTheVeryNextEvent() throws {
        let (root, device) = (try Workbench.keys(), try Workbench.keys())
        signer.admit([device])
        let registration = try bench.registration(of: device, Workbench.content(), root: root.publicKey)
        let list = try bench.event(.deviceList, tags: [["device", device.publicKey.hex]], by: root)
        let decisions = bench.submit(
            [registration, try bench.wrap(to: root, "early"), list, try bench.wrap(to: root, "late")],
            from: .relay(.live)
        )
        #expect(decisions.allSatisfy { $0.result == .accepted })
        #expect(bench.kept.count == 1)
        #expect(bench.count(.learned) == 1)
    }

    @Test func strangersListsAreNotVerified() throws {
        let stranger = try Workbench.keys()
        var list = try bench.event(.relayList, tags: [["r", "wss://relay.example.com"]], by: stranger)
        list.signature.first = Bytes32(words: (1, 2, 3, 4))
        #expect(bench.submit([list], from: .relay(.live)).map(\.result) == [.accepted])
        #expect(bench.count(.unaddressed) == 1)
        #expect(bench.submit([list]).map(\.result.isFinal) == [true])
        #expect(bench.count(.forged) == 1)
    }

    @Test func strangerNamedByARegistrationIsKnown() throws {
        let (root, device) = (try Workbench.keys(), try Workbench.keys())
        signer.admit([device])
        let list = try bench.event(.deviceList, tags: [["device", device.publicKey.hex]], by: root)
        bench.submit([list, list], from: .relay(.live))
        #expect(bench.count(.unaddressed) == 2)
        let registration = try bench.registration(of: device, Workbench.content(), root: root.publicKey)
        bench.submit([registration, list], from: .relay(.live))
        #expect(bench.count(.learned) == 1)
        signer.carry(
            try bench.registration(of: device, Workbench.content(), secondsAgo: 50, root: alice.publicKey)
        )
        let later = try bench.event(.deviceList, by: alice)
        bench.submit([later, try request(), later], from: .relay(.live))
        #expect(bench.count(.learned) == 2)
    }

    @Test func aListIsLearnedOnceFromFiveRelays() throws {
        let owner = try Workbench.keys()
        signer.admit([owner])
        bench.submit([try bench.registration(of: owner, Workbench.content())])
        let list = try bench.event(.relayList, tags: [["r", "wss://relay.example.com"]], by: owner)
        let answers = bench.arrive(Array(repeating: ([list], .relay(.stored)), count: 5))
        bench.submit([list], from: .relay(.live))
        #expect(answers.map(\.results) == [[.accepted]] + Array(repeating: [.duplicate], count: 4))
        #expect(bench.count(.learned) == 1)
        #expect(try bench.registry.watchedAccount(owner.publicKey)?.readRelays == ["wss://relay.example.com"])
    }

    private struct Unexpected: Error {}
}
