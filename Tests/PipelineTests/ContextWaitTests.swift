import Cipher
import Core
import Delivery
import Nostr
import Push
import Rules
import Testing
import TimeTestSupport

@testable import Pipeline

/// Events that wait for names and notes, on a clock that a test moves.
@Suite struct ContextWaitTests {
    private let bench: Workbench
    private let fetcher = FakeFetcher()
    private let alice: KeyPair

    init() throws {
        bench = try Workbench(dependencies: PipelineDependencies(contextFetcher: fetcher))
        alice = try Workbench.keys()
    }

    private var stand: String { alice.publicKey.hex.prefix(8) + "..." }

    private func note(_ content: String, to owner: KeyPair) throws -> Event {
        try bench.event(.textNote, content, tags: [["p", owner.publicKey.hex]], by: alice)
    }

    private func profile(_ name: String = "alice") throws -> Event {
        try bench.event(.profile, #"{"name":"\#(name)"}"#, by: alice)
    }

    /// Delivers fetched events and then the end of the fetch, as a relay pool would.
    private func find(_ events: [Event]) {
        bench.intake.submit(Submission(events: events.map(\.json), source: .relay(.fetched)) { _ in })
        fetcher.last?.completion()
        bench.process()
    }

    @Test func eventWaitsForANameAndIsSentWithIt() throws {
        let owner = try bench.account()
        let answer = bench.arrive([([try note("hello", to: owner)], .relay(.live))])[0]
        #expect(answer.count == 0 && bench.kept.isEmpty)
        #expect(fetcher.last?.wants.profiles == [alice.publicKey])
        find([try profile()])
        #expect(bench.kept.map(\.notification.title) == ["💬 alice sent you a note"])
        #expect(answer.count == 1 && answer.results == [.accepted])
        #expect(bench.count(.waiting) == 1 && bench.count(.queued) == 1)
    }

    @Test func eventWithUnavailableContextIsSentWithoutItAndNotFetchedAgain() throws {
        let owner = try bench.account()
        let answer = bench.arrive([([try note("one", to: owner)], .relay(.live))])[0]
        find([])
        #expect(answer.results == [.accepted])
        bench.submit([try note("two", to: owner)], from: .relay(.live))
        #expect(bench.kept.map(\.notification.title) == Array(repeating: "💬 \(stand) sent you a note", count: 2))
        #expect(fetcher.count == 1)
    }

    @Test func eventsWaitOnlyWhileARelayIsConnected() throws {
        let owner = try bench.account()
        fetcher.set(isReachable: false)
        bench.submit([try note("one", to: owner)], from: .relay(.live))
        #expect(bench.kept.map(\.notification.title) == ["💬 \(stand) sent you a note"])
        #expect(fetcher.count == 0 && bench.count(.waiting) == 0)
        fetcher.set(isReachable: true)
        let answer = bench.arrive([([try note("two", to: owner)], .relay(.live))])[0]
        #expect(answer.count == 0 && fetcher.count == 1)
        find([try profile()])
        #expect(bench.kept.last?.notification.title == "💬 alice sent you a note")
    }

    @Test func lateContextIsNotWaitedFor() throws {
        let owner = try bench.account()
        let answer = bench.arrive([([try note("hello", to: owner)], .relay(.live))])[0]
        #expect(bench.pipeline?.timeout == .milliseconds(1_500))
        bench.clock.advance(by: .milliseconds(1_499))
        bench.pipeline?.process(Arrivals())
        #expect(answer.count == 0)
        bench.clock.advance(by: .milliseconds(1))
        #expect(bench.pipeline?.timeout == .zero)
        bench.pipeline?.process(Arrivals())
        #expect(answer.results == [.accepted])
        #expect(bench.kept.map(\.notification.title) == ["💬 \(stand) sent you a note"])
        #expect(bench.pipeline?.timeout == nil)
        find([try profile()])
        bench.submit([try note("next", to: owner)], from: .relay(.live))
        #expect(bench.kept.last?.notification.title == "💬 alice sent you a note")
    }

    @Test func manyWantsOfABatchAreOneFetch() throws {
        let owner = try bench.account()
        let authors = try (0..<200).map { _ in try Workbench.keys() }
        let parent = EventID(Bytes32(words: (1, 2, 3, 4)))
        let events = try authors.map {
            let tags = [["p", owner.publicKey.hex], ["e", parent.hex, "", "reply"]]
            return try bench.event(.textNote, "hello", tags: tags, by: $0)
        }
        let answers = bench.arrive(events.map { ([$0], .relay(.live)) })
        #expect(fetcher.count == 1)
        #expect(fetcher.last?.wants.profiles == Set(authors.map(\.publicKey)))
        #expect(fetcher.last?.wants.events == [parent])
        find([])
        #expect(bench.kept.count == 200)
        #expect(answers.allSatisfy { $0.results == [.accepted] })
    }

    @Test func otherEventsAreKeptImmediatelyAndTheResponseFollowsTheLast() throws {
        let (owner, sleeper) = (try bench.account(), try bench.account(mode: "wake"))
        let events = [try note("waits", to: owner), try note("does not", to: sleeper)]
        let answer = bench.arrive([(events, .relay(.live))])[0]
        #expect(bench.kept.map(\.notification.mode) == [.wake])
        #expect(answer.count == 0)
        find([try profile()])
        #expect(answer.count == 1)
        #expect(answer.results == [.accepted, .accepted])
        #expect(bench.kept.count == 2)
    }

    @Test func copiesOfAWaitingEventShareItsResult() throws {
        let owner = try bench.account()
        let note = try note("hello", to: owner)
        let first = bench.arrive([([note, note], .relay(.live)), ([note], .relay(.stored))])
        let second = bench.arrive([([note], .socket(authenticated: []))])
        #expect((first + second).allSatisfy { $0.count == 0 })
        find([try profile()])
        #expect((first + second).map(\.results) == [[.accepted, .duplicate], [.duplicate], [.duplicate]])
        #expect(bench.submit([note]).map(\.result) == [.duplicate])
        #expect(bench.kept.count == 1)
    }

    @Test func eventThatCannotBeStoredAfterWaitingMayBeResent() throws {
        let owner = try bench.account()
        let note = try note("hello", to: owner)
        let answers = bench.arrive([([note], .relay(.live)), ([note], .relay(.live))])
        bench.diskIsFull = true
        find([try profile()])
        #expect(answers.allSatisfy { $0.results.map(\.isFinal) == [false] })
        bench.diskIsFull = false
        #expect(bench.submit([note], from: .relay(.stored)).map(\.result) == [.accepted])
        #expect(bench.kept.count == 1)
    }

    @Test func waitingEventIsNotHandledBeforeItIsStored() throws {
        let owner = try bench.account()
        let note = try note("hello", to: owner)
        _ = bench.arrive([([note], .relay(.live))])
        #expect(bench.causes.isEmpty)
        try bench.restart()
        let again = bench.arrive([([note], .relay(.stored))])[0]
        find([try profile()])
        #expect(again.results == [.accepted])
        #expect(bench.kept.count == 1)
    }

    @Test func accountInWakeModeDoesNotWaitForContext() throws {
        let owner = try bench.account(mode: "wake")
        #expect(bench.submit([try note("hello", to: owner)], from: .relay(.live)).map(\.result) == [.accepted])
        #expect(fetcher.count == 0)
    }

    @Test func waitingEventsAreSentWithoutContextAtTheEnd() throws {
        let owner = try bench.account()
        let answer = bench.arrive([([try note("hello", to: owner)], .relay(.live))])[0]
        bench.pipeline?.finish()
        #expect(answer.results == [.accepted])
        #expect(bench.kept.count == 1)
    }

    @Test func accountThatDeregistersDuringTheWaitGetsNoPush() throws {
        let owner = try bench.account()
        let answer = bench.arrive([([try note("hello", to: owner)], .relay(.live))])[0]
        let farewell = try bench.event(
            .pushRegistration,
            tags: [["d", bench.identity.publicKey.hex + ":phone"]],
            by: owner
        )
        bench.submit([farewell])
        find([try profile()])
        #expect(answer.results == [.accepted])
        #expect(bench.kept.isEmpty)
    }

    @Test func unrequestedProfileEndsTheWait() throws {
        let owner = try bench.account()
        let answer = bench.arrive([([try note("hello", to: owner)], .relay(.live))])[0]
        bench.submit([try profile()])
        #expect(answer.results == [.accepted])
        #expect(bench.kept.map(\.notification.title) == ["💬 alice sent you a note"])
    }

    @Test func parentNoteDecidesWhetherItIsAReply() throws {
        let (author, bystander) = (
            try bench.account(["reply"], mode: "wake"), try bench.account(["reply"], mode: "wake")
        )
        let parent = try bench.event(.textNote, "parent", by: author)
        let tags = [["e", parent.id.hex], ["p", bystander.publicKey.hex], ["p", author.publicKey.hex]]
        let answer = bench.arrive([([try bench.event(.textNote, "answer", tags: tags, by: alice)], .relay(.live))])[0]
        #expect(answer.count == 0)
        #expect(fetcher.last?.wants.events == [parent.id])
        find([parent])
        #expect(bench.kept.map(\.notification) == [.wake(.reply, urgency: .normal)])
        #expect(bench.count(.unwanted) == 1)
    }

    @Test func accountThatWantsOnlyMessagesDoesNotWaitForAReplysParent() throws {
        let owners = [try bench.account(["dm"]), try bench.account(["dm"])]
        let tags = [["e", String(repeating: "0f", count: 32)]] + owners.map { ["p", $0.publicKey.hex] }
        bench.submit([try bench.event(.textNote, "answer", tags: tags, by: alice)], from: .relay(.live))
        #expect(fetcher.count == 0)
        #expect(bench.count(.unwanted) == 2)
    }

    @Test func eventBeyondTheContextCapacityIsSentWithoutContextImmediately() throws {
        let bench = try Workbench(contextCapacity: 2, dependencies: PipelineDependencies(contextFetcher: fetcher))
        let owner = try bench.account()
        let answers = bench.arrive(try (0..<3).map { ([try note("\($0)", to: owner)], .relay(.live)) })
        #expect(answers.map(\.count) == [0, 0, 1])
        #expect(bench.kept.map(\.notification.body) == ["2"])
        bench.pipeline?.finish()
        #expect(answers.allSatisfy { $0.results == [.accepted] })
        #expect(bench.kept.map(\.notification.body) == ["2", "0", "1"])
    }
}
