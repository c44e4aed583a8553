import Core
import Push
import Testing
import TimeTestSupport

@testable import Delivery

struct CourierBacklogTests {
    private static let limits = CourierLimits(inFlight: 4, window: 16)
    private let delivered = Outcome(.delivered, status: 200, reason: "ok")
    private let name = QueueName(platform: "ios", app: "default")

    private func row(_ number: Int, due: Timestamp? = nil) -> StoredDelivery {
        StoredDelivery(
            key: OutboxKey(queue: 1, sequence: Int64(number)),
            delivery: .sample(number, device: Int64(number)),
            attempts: due == nil ? 0 : 1,
            due: due
        )
    }

    /// Returns a queue found on disk, up to delivery `last`, with both first pages requested.
    private func found(_ last: Int) -> QueuesDriver {
        let waiting = StoredQueue(number: 1, name: name, last: row(last).key)
        var driver = QueuesDriver(limits: Self.limits, waiting: [waiting])
        driver.handle(.wake)
        return driver
    }

    @Test func storedDeliveriesAreReadFromTheStart() {
        let driver = found(9)
        let lowest = OutboxKey.lowest(of: 1)
        #expect(
            driver.reads.map(\.part) == [
                .firstTries(after: lowest), .retries(from: RetryPlace(due: .distantPast, key: lowest)),
            ]
        )
        #expect(driver.reads.map(\.limit) == [4, 4])
    }

    @Test func newDeliveriesWaitAfterThoseOnDisk() {
        var driver = found(2)
        driver.handle(.accepted([row(3)]))
        #expect(driver.numbersUnderWay.isEmpty)
        driver.handle(.page(driver.reads[0], OutboxPage(deliveries: [row(1), row(2)], isLast: true)))
        #expect(driver.numbersUnderWay == [1, 2])
        #expect(driver.reads.last?.part == .firstTries(after: row(2).key))
    }

    @Test func deliveryAcceptedDuringAReadIsReadNext() throws {
        var driver = found(2)
        driver.handle(.accepted([row(3)]))
        driver.handle(.page(driver.reads[0], OutboxPage(deliveries: [row(1), row(2)], isLast: true)))
        let second = try #require(driver.reads.last)
        driver.handle(.accepted([row(4)]))
        driver.handle(.page(second, OutboxPage(deliveries: [row(3)], isLast: true)))
        let third = try #require(driver.reads.last)
        #expect(third.part == .firstTries(after: row(3).key))
        driver.handle(.page(third, OutboxPage(deliveries: [row(4)], isLast: true)))
        #expect(driver.numbersUnderWay == [1, 2, 3, 4])
        driver.handle(.accepted([row(5)]))
        driver.end(1, delivered)
        #expect(driver.numbersUnderWay == [2, 3, 4, 5])
    }

    @Test func deliveriesInAnEarlierPageAreNotTakenTwice() {
        var driver = found(2)
        driver.handle(.page(driver.reads[0], OutboxPage(deliveries: [row(1), row(2), row(3)], isLast: true)))
        driver.handle(.accepted([row(3), row(4)]))
        #expect(driver.numbersUnderWay == [1, 2, 3, 4])
        #expect(driver.queues.queues[0].devices.count == 4)
    }

    @Test func memoryHoldsAWindowAndTheDiskTheRest() {
        var driver = QueuesDriver(limits: Self.limits)
        driver.handle(.accepted((1...50).map { row($0) }))
        #expect(driver.queues.queues[0].devices.count == 16)
        #expect(driver.reads.isEmpty)
        for number in 1...8 { driver.end(number, delivered) }
        #expect(driver.reads.map(\.part) == [.firstTries(after: row(16).key)])
        driver.handle(.page(driver.reads[0], OutboxPage(deliveries: (17...20).map { row($0) }, isLast: false)))
        #expect(driver.queues.queues[0].devices.count == 12)
    }

    @Test func retriesBeyondTheirShareWaitOnDisk() {
        var driver = QueuesDriver(limits: Self.limits)
        driver.handle(.accepted((1...12).map { row($0) }))
        for number in 1...12 {
            driver.now += .milliseconds(1)
            driver.end(number, Outcome(.retry, status: 503, reason: "down"))
        }
        let queue = driver.queues.queues[0]
        #expect(queue.devices.count == 8)
        #expect(queue.devices.delayedCount == 8)
        let due = driver.changes.reschedulings[8].due
        #expect(queue.paging.horizon == RetryPlace(due: due, key: row(9).key))
        driver.advance(to: due)
        #expect(driver.reads.last?.part == .retries(from: RetryPlace(due: due, key: row(9).key)))
    }

    @Test func aDevicesDeliveriesGoToDiskTogether() throws {
        var driver = QueuesDriver(limits: Self.limits)
        let key = { (number: Int) in OutboxKey(queue: 1, sequence: Int64(number)) }
        driver.handle(.accepted((1...10).map { StoredDelivery(key: key($0), delivery: .sample($0, device: 1)) }))
        driver.end(1, Outcome(.retry, status: 503, reason: "down"))
        let due = driver.now + .seconds(1)
        #expect(driver.queues.queues[0].devices.count == 0)
        #expect(driver.changes.reschedulings.map(\.key) == (1...10).map(key))
        #expect(driver.changes.reschedulings.allSatisfy { $0.due == due })
        #expect(driver.changes.reschedulings.map(\.attempts) == [1] + Array(repeating: 0, count: 9))
        let read = try #require(driver.reads.last)
        let rows = (1...4).map {
            StoredDelivery(key: key($0), delivery: .sample($0, device: 1), attempts: $0 == 1 ? 1 : 0, due: due)
        }
        driver.handle(.page(read, OutboxPage(deliveries: rows, isLast: false)))
        driver.advance(to: due)
        for number in 1...4 {
            #expect(driver.numbersUnderWay == [number])
            driver.end(number, delivered)
        }
    }

    @Test func deliveryThatEndsDuringAReadDoesNotReturn() throws {
        var driver = found(1)
        let (firstTries, retries) = (driver.reads[0], driver.reads[1])
        driver.handle(.page(firstTries, OutboxPage(deliveries: [row(1)], isLast: true)))
        driver.end(1, Outcome(.retry, status: 503, reason: "down"))
        let due = driver.now + .seconds(1)
        driver.advance(to: due)
        #expect(driver.numbersUnderWay == [1])
        let overdue = (2...5).map { row($0, due: 5) }
        driver.handle(.page(retries, OutboxPage(deliveries: overdue, isLast: false)))
        for number in 2...5 { driver.end(number, delivered) }
        let second = try #require(driver.reads.last)
        #expect(second.part == .retries(from: RetryPlace(due: 5, key: row(6).key)))
        driver.end(1, delivered)
        driver.handle(.page(second, OutboxPage(deliveries: [row(1, due: due)], isLast: true)))
        #expect(driver.numbersUnderWay.isEmpty)
        #expect(driver.reports.filter { $0.kind.isFinal }.count == 5)
        #expect(driver.queues.queues[0].devices.count == 0)
        #expect(driver.queues.queues[0].paging.retrying.isEmpty)
    }
}
