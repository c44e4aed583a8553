import Delivery
import Notifications
import Testing
import Units

@testable import EventTrace

@Suite struct PendingStatusesTests {
    private static let start = Timestamp(seconds: 1_700_000_000)
    private var statuses = PendingStatuses()

    private mutating func deliver(_ number: Int64, at time: Timestamp, _ kind: DeliveryReport.Kind = .delivered) {
        statuses.take(DeviceID(rawValue: number), kind, status: 200, reason: "word", at: time, limit: 3)
    }

    private func numbers(_ due: [DeviceID: DeviceStatus]) -> [Int64] { due.keys.map(\.rawValue).sorted() }

    @Test mutating func writesADeviceOnceASecond() {
        deliver(1, at: Self.start)
        #expect(numbers(statuses.takeDue(at: Self.start, all: false)) == [1])
        let later = Self.start + .milliseconds(500)
        deliver(1, at: later)
        #expect(statuses.takeDue(at: later, all: false).isEmpty && statuses.count == 1)
        #expect(statuses.due == Self.start + .seconds(1))
        let end = Self.start + .seconds(1)
        let due = statuses.takeDue(at: end, all: false)
        #expect(due[DeviceID(rawValue: 1)]?.lastSuccess?.at == later)
        #expect(statuses.count == 0 && statuses.due == nil)
        // That row counts for the next second.
        deliver(1, at: end + .milliseconds(100))
        #expect(statuses.takeDue(at: end + .milliseconds(900), all: false).isEmpty)
    }

    @Test mutating func lacksNothingThatCameWhileADeviceWaited() {
        deliver(1, at: Self.start)
        _ = statuses.takeDue(at: Self.start, all: false)
        let (success, failure) = (Self.start + .milliseconds(100), Self.start + .milliseconds(200))
        deliver(1, at: success)
        deliver(1, at: failure, .retry)
        deliver(1, at: failure + .milliseconds(1), .postponed)
        let due = statuses.takeDue(at: Self.start + .seconds(2), all: false)[DeviceID(rawValue: 1)]
        #expect(due?.lastSuccess?.at == success && due?.lastFailure?.at == failure)
    }

    /// Whoever looks at a device after its first push finds it, whatever others get.
    @Test mutating func writesWhatADeviceHearsFirstAtOnce() {
        deliver(1, at: Self.start)
        _ = statuses.takeDue(at: Self.start, all: false)
        let later = Self.start + .milliseconds(300)
        deliver(1, at: later)
        deliver(2, at: later)
        #expect(numbers(statuses.takeDue(at: later, all: false)) == [2])
        deliver(2, at: later)
        #expect(numbers(statuses.takeDue(at: Self.start + .seconds(1), all: false)) == [1, 2])
    }

    @Test mutating func keepsNothingBackAtTheEnd() {
        deliver(1, at: Self.start)
        _ = statuses.takeDue(at: Self.start, all: false)
        deliver(1, at: Self.start)
        #expect(numbers(statuses.takeDue(at: Self.start, all: true)) == [1])
        #expect(statuses.takeDue(at: Self.start + .seconds(5), all: true).isEmpty)
    }

    @Test mutating func aClockThatWasSetBackEndsTheWait() {
        deliver(1, at: Self.start)
        _ = statuses.takeDue(at: Self.start, all: false)
        deliver(1, at: Self.start)
        #expect(numbers(statuses.takeDue(at: Self.start - .hours(1), all: false)) == [1])
    }

    @Test mutating func isBounded() {
        for number in 1...5 as ClosedRange<Int64> { deliver(number, at: Self.start) }
        let later = Self.start + .milliseconds(1)
        deliver(2, at: later)
        let due = statuses.takeDue(at: later, all: false)
        #expect(numbers(due) == [1, 2, 3] && due[DeviceID(rawValue: 2)]?.lastSuccess?.at == later)
    }
}
