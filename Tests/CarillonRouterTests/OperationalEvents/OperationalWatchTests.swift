import Delivery
import Notifications
import RouterConfiguration
import Testing
import TimeTestSupport
import Units

@testable import Operations

struct OperationalWatchTests {
    private static let queue = QueueName(platform: "ios", app: "default")
    private static let noon = Timestamp(seconds: 1_773_446_400)

    private static func report(_ kind: DeliveryReport.Kind, device: Int64 = 1) -> DeliveryReport {
        DeliveryReport(
            delivery: "d",
            device: DeviceID(rawValue: device),
            queue: queue,
            kind: kind,
            status: 500,
            reason: "why",
            attempt: 1
        )
    }

    @Test func aDeviceThatIsGoneIsToldAtOnce() {
        var watch = OperationalWatch(failingDays: 5)
        let events = watch.took([Self.report(.delivered), Self.report(.gone, device: 7)], at: Self.noon) { _ in nil }
        #expect(events.map(\.kind) == [.deviceGone])
        #expect(events[0].device == DeviceID(rawValue: 7) && events[0].details.map(\.name) == ["reason", "status"])
    }

    @Test func aDeviceFailsAfterDaysOfFailuresAndNotAfterOne() {
        var watch = OperationalWatch(failingDays: 5)
        func kinds(_ kind: DeliveryReport.Kind, hours: Int, lastSuccess: Timestamp? = nil) -> [OperationalEventKind] {
            watch.took([Self.report(kind)], at: Self.noon + .hours(hours)) { _ in lastSuccess }.map(\.kind)
        }
        // A long silence, and then a failure: nobody knows yet.
        let before = Self.noon - .days(30)
        #expect(kinds(.rejected, hours: 0, lastSuccess: before) == [])
        #expect(kinds(.retry, hours: 11, lastSuccess: before) == [])
        #expect(kinds(.retry, hours: 13, lastSuccess: before) == [.deviceFailing])
        // Once for each span.
        #expect(kinds(.expired, hours: 14, lastSuccess: before) == [])
        #expect(kinds(.expired, hours: 13 + 5 * 24, lastSuccess: before) == [.deviceFailing])
        #expect(kinds(.delivered, hours: 134) == [])
        #expect(kinds(.retry, hours: 135) == [])
        #expect(kinds(.retry, hours: 135 + 5 * 24 - 1) == [])
        #expect(kinds(.retry, hours: 135 + 5 * 24) == [.deviceFailing])
    }

    @Test func aPauseIsToldOnceAndSoIsItsEnd() {
        var watch = OperationalWatch(failingDays: 5)
        let pause = QueuePause(queue: Self.queue, until: Self.noon + .minutes(1), reason: "key")
        let longer = QueuePause(queue: Self.queue, until: Self.noon + .minutes(9), reason: "key")
        let other = QueuePause(queue: Self.queue, until: Self.noon + .minutes(9), reason: "busy", cause: .asked)
        let told = [
            watch.resumed(Self.queue, at: Self.noon), watch.paused(pause, at: Self.noon),
            watch.paused(longer, at: Self.noon), watch.paused(other, at: Self.noon),
            watch.resumed(Self.queue, at: Self.noon), watch.resumed(Self.queue, at: Self.noon),
        ]
        #expect(told.map { $0?.kind } == [nil, .queuePaused, nil, .queuePaused, .queueResumed, nil])
        #expect(told[3]?.details.first?.value == "busy")
    }

    @Test func aCredentialIsToldOfAsItsEndComesNearer() {
        var watch = OperationalWatch(failingDays: 5)
        let end = Self.noon + .days(20)
        var sight = OperationalWatch.Sight()
        sight.expiries = [OperationalWatch.Sight.Expiry(queue: Self.queue, what: "certificate", at: end)]
        var days: [Int] = []
        for hour in 0..<(24 * 30) where !watch.look(sight, at: Self.noon + .hours(hour)).isEmpty {
            days.append(hour / 24)
        }
        #expect(days == [6, 13, 17, 19, 20])
        sight.expiries[0].at = end + .days(300)
        let further = watch.look(sight, at: end)
        #expect(further.isEmpty)
    }

    @Test func aProcessThatEndedIsToldEachTime() {
        var watch = OperationalWatch(failingDays: 5)
        var sight = OperationalWatch.Sight()
        sight.processes = [OperationalWatch.Sight.PluginProcess(plugins: ["a.so"], deaths: 0, lastDeath: nil)]
        var counts = [watch.look(sight, at: Self.noon).count]
        sight.processes[0].deaths = 2
        sight.processes[0].lastDeath = "signal 11"
        let told = watch.look(sight, at: Self.noon)
        counts.append(watch.look(sight, at: Self.noon).count)
        sight.processes[0].deaths = 3
        counts.append(watch.look(sight, at: Self.noon).count)
        #expect(told.map(\.kind) == [.pluginCrashed] && counts == [0, 0, 1])
    }

    @Test func aRelayThatWantsALoginIsToldOnceADay() {
        var watch = OperationalWatch(failingDays: 5)
        var sight = OperationalWatch.Sight()
        sight.closedRelays = ["wss://relay.example.com"]
        let hours = (0..<50).filter { !watch.look(sight, at: Self.noon + .hours($0)).isEmpty }
        #expect(hours == [0, 24, 48])
    }
}

struct WebhookQueueTests {
    private static func message(_ id: String, due: Deadline = 0) -> WebhookQueue.Message {
        WebhookQueue.Message(id: id, body: [], due: due)
    }

    @Test func oneGoesAtATimeAndTheScheduleIsAsPublished() {
        var queue = WebhookQueue()
        queue.add(Self.message("a"))
        queue.add(Self.message("b", due: 1))
        var now: Deadline = 0
        let first = [queue.next(at: now), queue.next(at: 5)]
        #expect(first.map { $0?.id } == ["a", nil] && queue.due == nil)
        queue.finish(.taken, at: now)
        let second = queue.next(at: 1)
        #expect(second?.id == "b")
        var waits: [Duration] = []
        now = 1
        while true {
            queue.finish(.failed, at: now)
            guard let due = queue.due else { break }
            waits.append(due - now)
            now = due
            let again = [queue.next(at: now - .milliseconds(1)), queue.next(at: now)]
            #expect(again.map { $0?.id } == [nil, "b"])
        }
        #expect(waits == WebhookQueue.pauses && queue.lost == 1 && queue.messages.isEmpty)
    }

    @Test func whatIsGoneGetsNothingMore() {
        var queue = WebhookQueue()
        queue.add(Self.message("a"))
        queue.add(Self.message("b"))
        _ = queue.next(at: 0)
        queue.finish(.gone, at: 0)
        queue.add(Self.message("c"))
        #expect(queue.messages.isEmpty && queue.due == nil && queue.lost == 3)
    }

    @Test func thereIsRoomForSoMany() {
        var queue = WebhookQueue()
        queue.add(Self.message("on its way"))
        _ = queue.next(at: 0)
        for number in 0..<WebhookQueue.most { queue.add(Self.message("\(number)")) }
        #expect(queue.messages.count == WebhookQueue.most && queue.messages.first?.id == "on its way")
        #expect(queue.lost == 1 && queue.messages.last?.id == "\(WebhookQueue.most - 1)")
    }
}
