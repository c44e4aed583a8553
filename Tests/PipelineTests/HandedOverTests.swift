import Core
import Nostr
import Registry
import Synchronization
import Testing
import TimeTestSupport

@testable import Pipeline

/// Events whose accounts belong to partitions of other routers.
@Suite struct HandedOverTests {
    /// Owners that answer when a test makes them.
    private final class Owners: PartitionOwners {
        struct Question: Sendable {
            let event: EventID
            let source: EventSource
            /// Nil: all accounts.
            let accounts: Set<PublicKey>?
            let completion: @Sendable (Bool) -> Void
        }

        let questions = Mutex<[Question]>([])

        func handOver(
            _ event: Event,
            from source: EventSource,
            concerning accounts: [PublicKey]?,
            completion: @escaping @Sendable (Bool) -> Void
        ) {
            let question = Question(
                event: event.id,
                source: source,
                accounts: accounts.map { Set($0) },
                completion: completion
            )
            questions.withLock { $0.append(question) }
        }

        var count: Int { questions.withLock(\.count) }

        func answer(_ isKept: Bool) {
            let open = questions.withLock { questions in
                defer { questions = [] }
                return questions
            }
            for question in open { question.completion(isKept) }
        }
    }

    private let owners = Owners()
    private let bench: Workbench

    init() throws {
        bench = try Workbench(dependencies: PipelineDependencies(owners: owners))
    }

    @Test func eventIsAcknowledgedOnceItsOwnersStoredIt() throws {
        let owner = try bench.account()
        let wrap = try bench.wrap(to: owner)
        let answer = bench.arrive([([wrap], .socket(authenticated: []))])[0]
        #expect(answer.results.isEmpty && owners.count == 1 && bench.kept.isEmpty)
        #expect(owners.questions.withLock { $0.first?.accounts } == [owner.publicKey])
        // A copy from another source waits with it, without a second request.
        let copy = bench.arrive([([wrap], .relay(.live))])[0]
        #expect(copy.results.isEmpty && owners.count == 1)
        owners.answer(true)
        bench.process()
        #expect(answer.results == [.accepted] && copy.results == [.duplicate])
        // From now on it is known.
        #expect(bench.submit([wrap], from: .relay(.stored)).map(\.result) == [.duplicate])
        #expect(owners.count == 0 && bench.kept.isEmpty)
    }

    @Test func eventOwnersDoNotStoreMayBeResent() throws {
        let owner = try bench.account()
        let wrap = try bench.wrap(to: owner)
        let answer = bench.arrive([([wrap], .relay(.live))])[0]
        owners.answer(false)
        bench.process()
        #expect(answer.results.map(\.isFinal) == [false])
        _ = bench.arrive([([wrap], .relay(.live))])
        #expect(owners.count == 1)
    }

    @Test func unansweredHandoverIsRefusedAtTheEnd() throws {
        let owner = try bench.account()
        let answer = try bench.arrive([([bench.wrap(to: owner)], .relay(.live))])[0]
        #expect(bench.pipeline?.router.hasPendingHandovers == true)
        bench.pipeline?.finish()
        #expect(answer.results.map(\.isFinal) == [false])
    }

    /// Only owners know their events, so all of them are asked.
    @Test func aDeletionGoesToAllOwners() throws {
        let (owner, author) = (try bench.account(), try Workbench.keys())
        let note = try bench.event(.textNote, "hello", tags: [["p", owner.publicKey.hex]], by: author)
        _ = bench.arrive([([note], .relay(.live))])
        owners.answer(true)
        bench.process()
        let deletion = try bench.event(.deletion, tags: [["e", note.id.hex], ["k", "1"]], by: author)
        let answer = bench.arrive([([deletion], .relay(.live))])[0]
        #expect(answer.results.isEmpty && owners.count == 1)
        #expect(owners.questions.withLock { $0.first?.event == deletion.id && $0.first?.accounts == nil })
        // An owner that holds the event confirms it.
        #expect(bench.trace(of: deletion.id).isEmpty)
        owners.answer(true)
        bench.process()
        #expect(answer.results == [.accepted])
        #expect(bench.submit([deletion], from: .relay(.stored)).map(\.result) == [.duplicate])
    }

    /// Another member may have read the event, and its author need not have registered.
    @Test func aDeletionOfAnEventThatNeverCameHereGoesToAllOwners() throws {
        let stranger = try Workbench.keys()
        let deletion = try bench.event(.deletion, tags: [["e", String(repeating: "ab", count: 32)]], by: stranger)
        let answer = bench.arrive([([deletion], .socket(authenticated: []))])[0]
        #expect(answer.results.isEmpty)
        #expect(owners.questions.withLock { $0.map(\.event) == [deletion.id] && $0.first?.accounts == nil })
        // No owner can keep it for now, so it comes again.
        owners.answer(false)
        bench.process()
        #expect(answer.results.map(\.isFinal) == [false])
        let again = bench.arrive([([deletion], .socket(authenticated: []))])[0]
        owners.answer(true)
        bench.process()
        #expect(again.results == [.accepted])
    }

    /// Another member may hold the event at an address. A forged deletion is sent to no owner.
    @Test func deletionByAddressGoesToAllOwnersAndAForgedOneToNone() throws {
        let stranger = try Workbench.keys()
        let address = try bench.event(.deletion, tags: [["a", "30023:\(stranger.publicKey.hex):x"]], by: stranger)
        let answer = bench.arrive([([address], .relay(.live))])[0]
        owners.answer(true)
        bench.process()
        #expect(answer.results == [.accepted])
        let asked = owners.count
        let id = String(repeating: "ab", count: 32)
        let real = try bench.event(.deletion, tags: [["e", id]], by: stranger)
        let forged = Array(String(decoding: real.json, as: UTF8.self).replacing(id, with: String(id.reversed())).utf8)
        _ = bench.submit([forged], from: .relay(.live))
        #expect(owners.count == asked)
    }

    @Test func unaddressedEventHasNoOwnerAndAnEarlierOneIsHandedOverAsBaseline() throws {
        let owner = try bench.account()
        let stranger = try Workbench.keys()
        let foreign = try bench.wrap(to: stranger)
        #expect(bench.submit([foreign], from: .relay(.live)).map(\.result) == [.accepted])
        #expect(owners.count == 0)
        _ = try bench.arrive([([bench.wrap(to: owner)], .relay(.baseline))])
        let isBaseline = owners.questions.withLock { questions in
            if case .relay(.baseline)? = questions.first?.source { true } else { false }
        }
        #expect(isBaseline)
    }
}
