import Cipher
import Core
import Foundation
import Logging
import Nostr
import Observability
import Synchronization
import Testing
import TimeTestSupport

@testable import Operations

/// The events of all cluster members on which rules are tried.
@Suite final class KeptEventPagesTests {
    /// Members that answer from their own stores.
    private final class Members: Peers {
        let name: String
        let others: [String]
        private let answers: Mutex<[String: MemberSurvey]>
        private let questions = Mutex(0)

        init(_ name: String, _ answers: [String: MemberSurvey] = [:], silent: [String] = []) {
            (self.name, others) = (name, answers.keys.sorted() + silent)
            self.answers = Mutex(answers)
        }

        var count: Int { questions.withLock(\.self) }

        func ask(_ question: [UInt8], of member: String, within span: Duration) async -> PeerReply {
            questions.withLock { $0 += 1 }
            guard let survey = answers.withLock({ $0[member] }) else { return .silence(.absent) }
            return .answer(await survey.answer(question))
        }

        func owns(_ account: PublicKey) -> Bool { false }

        func tell(_ bytes: [UInt8], to member: String) {}
    }

    private let folder: URL
    private let clock = ManualClock(Timestamp(seconds: 1_773_446_400))
    private let key = PublicKey(Bytes32(words: (1, 1, 1, 1)))
    private let other = PublicKey(Bytes32(words: (2, 2, 2, 2)))

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "pages-" + Hex.encode(SecureRandom.bytes(8))
        )
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    private func store(_ member: String) -> KeptEvents {
        KeptEvents(path: path(member), age: .hours(24), now: clock.now, logger: Logger(label: "test"))
    }

    private func path(_ member: String) -> String { folder.appendingPathComponent(member).path }

    private func event(_ number: UInt64, content: String = "hello") -> Event {
        Event(
            id: EventID(Bytes32(words: (number, 7, 7, 7))),
            pubkey: key,
            createdAt: clock.now().seconds,
            kind: .textNote,
            tags: [],
            content: content,
            signature: Signature(first: Bytes32(words: (2, 2, 2, 2)), second: Bytes32(words: (3, 3, 3, 3)))
        )
    }

    private func pages(_ member: String, _ kept: KeptEvents?, peers: (any Peers)?) -> KeptEventPages {
        KeptEventPages(kept, path: path(member), MemberSurvey(peers: peers), now: clock.now)
    }

    /// Returns the other member's survey of its kept events.
    private func answering(_ kept: KeptEvents?) -> MemberSurvey {
        let survey = MemberSurvey(peers: Members("b"))
        _ = KeptEventPages(kept, path: path("b"), survey, now: clock.now)
        return survey
    }

    @Test func eventsOfAllMembersAreOneListWithEachEventOnce() async throws {
        let (a, b) = (store("a"), store("b"))
        a.decided(event(1), for: [key])
        clock.advance(by: .seconds(1))
        b.decided(event(2), for: [key])
        b.decided(event(1), for: [other])
        let members = Members("a", ["b": answering(b)], silent: ["c"])
        let found = try await pages("a", a, peers: members).events(since: clock.now() - .hours(1))
        #expect(found.events.map(\.event.id) == [event(2).id, event(1).id])
        #expect(found.events.map { Set($0.accounts) } == [[key], [key, other]])
        #expect(found.asked?.answered == ["a", "b"] && found.asked?.silent.map(\.name) == ["c"])
        #expect(found.events[0].event == event(2))
    }

    /// A response is a NATS message, which has a limit of one megabyte.
    @Test func manyEventsArePaged() async throws {
        let (a, b) = (store("a"), store("b"))
        a.decided(event(9_000), for: [key])
        let long = String(repeating: "x", count: 30_000)
        for number in 0..<60 { b.decided(event(UInt64(number), content: long), for: [key]) }
        let members = Members("a", ["b": answering(b)])
        let found = try await pages("a", a, peers: members).events(since: .epoch)
        #expect(found.events.count == 61 && found.asked?.silent == [])
        #expect(members.count > 3)
    }

    @Test func memberThatKeepsNoEventsIsNamed() async throws {
        let a = store("a")
        a.decided(event(1), for: [key])
        let members = Members("a", ["b": answering(nil)])
        let found = try await pages("a", a, peers: members).events(since: .epoch)
        #expect(found.events.count == 1)
        #expect(found.asked?.silent.first?.reason.contains("keep_events_hours") == true)
        // No member keeps events.
        let none = pages("x", nil, peers: Members("x", ["b": answering(nil)]))
        await #expect(throws: OperationError.self) { try await none.events(since: .epoch) }
        let alone = pages("x", nil, peers: nil)
        await #expect(throws: OperationError.self) { try await alone.events(since: .epoch) }
    }
}
