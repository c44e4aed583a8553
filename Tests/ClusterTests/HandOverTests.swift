import Core
import Testing
import TimeTestSupport

@testable import Cluster

/// Events in transit to the owner of their partition.
struct HandOverTests {
    private static func sent(_ actions: [HandOverQueue.Action]) -> [HandOverBatch] {
        actions.compactMap { if case .send(let batch) = $0 { batch } else { nil } }
    }

    @Test func itemsDuringASendFormTheNextBatch() {
        var queue = HandOverQueue(sender: 7)
        let first = Self.sent(queue.add([1], token: 1))
        #expect(first.map(\.items) == [[[1]]] && first[0].id == HandOverBatch.ID(sender: 7, number: 1))
        #expect(queue.add([2], token: 2).isEmpty && queue.add([3], token: 3).isEmpty)
        let actions = queue.ended(1, .kept, now: 0)
        #expect(actions.first == .kept([1]) && Self.sent(actions).map(\.items) == [[[2], [3]]])
        #expect(queue.ended(1, .kept, now: 0).isEmpty)
        #expect(queue.ended(2, .kept, now: 0) == [.kept([2, 3])] && queue.isEmpty)
    }

    @Test func aBatchIsRepeatedUnderItsNumberUntilItIsKept() {
        var queue = HandOverQueue(sender: 7)
        let batch = Self.sent(queue.add([1], token: 1))[0]
        #expect(queue.ended(1, .unanswered, now: 0).isEmpty)
        #expect(queue.tick(now: 49).isEmpty && queue.tick(now: 50) == [.send(batch)])
        #expect(queue.ended(1, .later, now: 50).isEmpty)
        #expect(queue.nextDeadline == 150)
        #expect(queue.tick(now: 150) == [.send(batch)])
        #expect(queue.ended(1, .kept, now: 160) == [.kept([1])])
    }

    /// A queue whose former owner does not respond asks the new owner immediately.
    @Test func newOwnerIsAskedImmediately() {
        var queue = HandOverQueue(sender: 7)
        let batch = Self.sent(queue.add([1], token: 1))[0]
        #expect(queue.ownerChanged(now: 10) == [.send(batch)])
        #expect(queue.nextDeadline == nil)
        // The former owner's silence schedules another try, and the response of the new one still counts.
        #expect(queue.ended(1, .unanswered, now: 20).isEmpty)
        #expect(queue.nextDeadline == 70)
        #expect(queue.ended(1, .kept, now: 30) == [.kept([1])])
        #expect(queue.tick(now: 100).isEmpty && queue.ownerChanged(now: 100).isEmpty)
    }

    @Test func sourcesWaitAtTheLimit() {
        var limits = HandOverQueue.Limits()
        (limits.waitingBytes, limits.batchBytes) = (10, 4)
        var queue = HandOverQueue(sender: 7, limits: limits)
        for token in 1...5 { _ = queue.add([0, 0], token: UInt64(token)) }
        #expect(queue.isFull)
        let actions = queue.ended(1, .kept, now: 0)
        #expect(!queue.isFull && Self.sent(actions).map(\.items.count) == [2])
    }

    @Test func anAnswerWaitsForTheAppend() {
        var receiver = HandOverReceiver<String>()
        let (one, two) = (HandOverBatch.ID(sender: 1, number: 1), HandOverBatch.ID(sender: 1, number: 2))
        #expect(receiver.receive(one, reply: "a") && !receiver.receive(one, reply: "b"))
        let early = receiver.worked(one, awaiting: 5, hasLease: true).replies
        #expect(early.isEmpty)
        #expect(receiver.kept(through: 4).isEmpty)
        #expect(receiver.kept(through: 5) == ["a", "b"])
        // A batch without new deliveries is acknowledged immediately, if all earlier ones are kept.
        _ = receiver.receive(two, reply: "c")
        let known = receiver.worked(two, awaiting: 5, hasLease: true).replies
        #expect(known == ["c"])
        #expect(receiver.receive(two, reply: "d") && receiver.refused(two) == ["d"])
    }

    @Test func onlyAppendedEventsAreKeptWithoutALease() {
        var receiver = HandOverReceiver<String>()
        let (one, two) = (HandOverBatch.ID(sender: 1, number: 1), HandOverBatch.ID(sender: 1, number: 2))
        // It had no result here, but another owner may have the deliveries that it withdraws.
        _ = receiver.receive(one, reply: "a")
        let without = receiver.worked(one, awaiting: 0, hasLease: false)
        #expect(without.answer == .later && without.replies == ["a"])
        // A later request under a lease gets another answer.
        _ = receiver.receive(one, reply: "b")
        let with = receiver.worked(one, awaiting: 0, hasLease: true)
        #expect(with.answer == .kept && with.replies == ["b"])
        _ = receiver.receive(two, reply: "c")
        let appended = receiver.worked(two, awaiting: 1, hasLease: false).replies
        #expect(appended.isEmpty)
        #expect(receiver.kept(through: 1) == ["c"])
    }
}
