import Core
import Testing
import TimeTestSupport

@testable import Delivery

/// The status of a queue merges those of several couriers.
@Suite struct QueueStatusTests {
    private func status(_ app: String, waiting: Int, until: Timestamp? = nil, reason: String? = nil) -> QueueStatus {
        let queue = QueueName(platform: "ios", app: app)
        let pause = until.map { QueuePause(queue: queue, until: $0, reason: reason ?? "", cause: .asked) }
        var status = QueueStatus(queue: queue, inFlight: 1, inMemory: 2, waitingForRetry: 1, pause: pause)
        (status.waiting, status.share) = (waiting, 10)
        return status
    }

    @Test func queuesOfOneNameAddUp() {
        let together = QueueStatus.together(
            [status("a", waiting: 3, until: 50, reason: "early"), status("b", waiting: 1)],
            [status("a", waiting: 4, until: 90, reason: "late"), status("c", waiting: 2)]
        )
        #expect(together.map(\.queue.app) == ["a", "b", "c"] && together.map(\.waiting) == [7, 1, 2])
        #expect(together[0].inFlight == 2 && together[0].inMemory == 4 && together[0].share == 20)
        // The status shows the longest pause and its reason.
        #expect(together[0].pause?.until == 90 && together[0].pause?.reason == "late" && together[1].pause == nil)
    }

    @Test func singleQueueIsUnchanged() {
        let own = [status("a", waiting: 3, until: 50, reason: "early")]
        #expect(QueueStatus.together(own, []) == own && QueueStatus.together([], own) == own)
        #expect(QueueStatus.together(own, [status("a", waiting: 0)])[0].pause?.reason == "early")
    }
}
