import Cipher
import Core
import Delivery
import DeliveryTestSupport
import Foundation
import Logging
import Push
import RandomTestSupport
import RouterConfiguration
import Testing
import TimeTestSupport

@testable import Operations
@testable import PluginHost

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

    @Test func goneDeviceIsReportedImmediately() {
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
        // A long silence, and then a failure: the state is still unknown.
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

    @Test func failingDeviceIsDisabledIfOthersAreReached() {
        var watch = OperationalWatch(failingDays: 5, disableDays: 30)
        let registered = Self.noon - .days(20)
        func suspensions(day: Int, reached: Bool) -> [OperationalWatch.Suspension] {
            let now = Self.noon + .days(day)
            let reports = (reached ? [Self.report(.delivered, device: 2)] : []) + [Self.report(.retry)]
            _ = watch.took(reports, at: now) { _ in registered }
            return watch.takeSuspensions()
        }
        #expect(suspensions(day: 0, reached: true) == [])
        #expect(suspensions(day: 9, reached: true) == [], "29 days")
        #expect(suspensions(day: 15, reached: false) == [], "nobody else is reached: the fault may be anywhere")
        let found = suspensions(day: 15, reached: true)
        #expect(found.map(\.device) == [DeviceID(rawValue: 1)] && found.map(\.since) == [registered])
        #expect(found[0].registeredBefore == Self.noon - .days(15))
        let event = watch.disabled(found[0], at: Self.noon)
        #expect(event.kind == .deviceDisabled && event.queue == Self.queue && event.device == DeviceID(rawValue: 1))
        // Not repeated at each push.
        #expect(suspensions(day: 15, reached: true) == [])
    }

    @Test func deviceIsNotDisabledIfTheFeatureIsOff() {
        var watch = OperationalWatch(failingDays: 5, disableDays: 0)
        for day in 0..<100 {
            let reports = [Self.report(.delivered, device: 2), Self.report(.retry)]
            _ = watch.took(reports, at: Self.noon + .days(day)) { _ in Self.noon - .days(99) }
        }
        #expect(watch.takeSuspensions() == [])
    }

    @Test func pauseAndItsEndAreReportedOnce() {
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

    @Test func expiringCredentialIsReportedRepeatedly() {
        var watch = OperationalWatch(failingDays: 5)
        let end = Self.noon + .days(20)
        var sight = OperationalWatch.Snapshot()
        sight.expiries = [(Self.queue, TransportStatus.Expiry(what: "certificate", at: end))]
        var days: [Int] = []
        for hour in 0..<(24 * 30) where !watch.look(sight, at: Self.noon + .hours(hour)).isEmpty {
            days.append(hour / 24)
        }
        #expect(days == [6, 13, 17, 19, 20])
        sight.expiries[0].expiry.at = end + .days(300)
        let further = watch.look(sight, at: end)
        #expect(further.isEmpty)
    }

    @Test func everyCrashIsReported() {
        var watch = OperationalWatch(failingDays: 5)
        var sight = OperationalWatch.Snapshot()
        sight.processes = [
            PluginProcessReport(
                plugins: ["a.so"],
                process: 1,
                state: .running,
                crashes: 0,
                lastCrash: nil,
                abandoned: 0,
                confinement: ""
            )
        ]
        var counts = [watch.look(sight, at: Self.noon).count]
        sight.processes[0].crashes = 2
        sight.processes[0].lastCrash = "signal 11"
        let told = watch.look(sight, at: Self.noon)
        counts.append(watch.look(sight, at: Self.noon).count)
        sight.processes[0].crashes = 3
        counts.append(watch.look(sight, at: Self.noon).count)
        #expect(told.map(\.kind) == [.pluginCrashed] && counts == [0, 0, 1])
    }

    @Test func relayThatRequiresALoginIsReportedOnceADay() {
        var watch = OperationalWatch(failingDays: 5)
        var sight = OperationalWatch.Snapshot()
        sight.closedRelays = ["wss://relay.example.com"]
        let hours = (0..<50).filter { !watch.look(sight, at: Self.noon + .hours($0)).isEmpty }
        #expect(hours == [0, 24, 48])
    }
}

struct WebhookQueueTests {
    private static func message(_ id: String, due: Deadline = 0) -> WebhookQueue.Message {
        WebhookQueue.Message(id: id, body: [], due: due)
    }

    @Test func messagesAreSentOneByOneOnThePublishedSchedule() {
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

    @Test func goneWebhookGetsNoMessages() {
        var queue = WebhookQueue()
        queue.add(Self.message("a"))
        queue.add(Self.message("b"))
        _ = queue.next(at: 0)
        queue.finish(.gone, at: 0)
        queue.add(Self.message("c"))
        #expect(queue.messages.isEmpty && queue.due == nil && queue.lost == 3)
    }

    /// Applies the changes of the queue to `kept`, like a store.
    private static func kept(_ queue: inout WebhookQueue, _ kept: inout [String: Int]) {
        for change in queue.takeChanges() {
            switch change {
            case .put(let message): kept[message.id] = message.attempts
            case .remove(let id): #expect(kept.removeValue(forKey: id) != nil)
            }
        }
    }

    @Test func queueChangesReproduceTheQueue() {
        var (queue, kept, generator) = (WebhookQueue(), [String: Int](), SeededGenerator(seed: 20))
        var now: Deadline = 0
        for number in 0..<2_000 {
            now = now + .milliseconds(Int.random(in: 0...20_000, using: &generator))
            queue.add(Self.message("\(number)", due: now))
            if queue.next(at: now) != nil, Bool.random(using: &generator) {
                queue.finish(Int.random(in: 0..<4, using: &generator) == 0 ? .taken : .failed, at: now)
            }
            Self.kept(&queue, &kept)
            #expect(kept == Dictionary(uniqueKeysWithValues: queue.messages.map { ($0.id, $0.attempts) }))
        }
        #expect(queue.messages.count == WebhookQueue.most)
        // One message may be in flight already.
        _ = queue.next(at: now + .days(9))
        queue.finish(.gone, at: now)
        Self.kept(&queue, &kept)
        #expect(queue.messages.isEmpty && kept.isEmpty)
    }

    @Test func queueIsLimited() {
        var queue = WebhookQueue()
        queue.add(Self.message("on its way"))
        _ = queue.next(at: 0)
        for number in 0..<WebhookQueue.most { queue.add(Self.message("\(number)")) }
        #expect(queue.messages.count == WebhookQueue.most && queue.messages.first?.id == "on its way")
        #expect(queue.lost == 1 && queue.messages.last?.id == "\(WebhookQueue.most - 1)")
    }
}

@Suite final class WebhookFileTests {
    private static let noon = Timestamp(seconds: 1_773_446_400)
    private let folder: URL
    private let path: String
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "webhooks-" + Hex.encode(SecureRandom.bytes(8)))
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        path = folder.appending(path: "store-webhooks").path
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    private func file() -> WebhookFile { WebhookFile(path: path, logger: logger) }

    @Test func queuedMessageKeepsItsScheduleAcrossARestart() throws {
        let (mine, other) = (WebhookFile.name(of: "https://ops.example.com/?key=s3cr3t"), WebhookFile.name(of: "b"))
        var (first, queue) = (file(), WebhookQueue())
        queue.add(.init(id: "evt_1", body: Array("one".utf8), due: 1_000))
        queue.add(.init(id: "evt_2", body: Array("two".utf8), due: 1_000))
        _ = queue.next(at: 1_000)
        queue.finish(.failed, at: 1_000)
        first.write([(mine, queue.takeChanges())], at: Self.noon, 1_000)
        _ = queue.next(at: 1_000)
        queue.finish(.taken, at: 1_000)
        queue.add(.init(id: "evt_3", body: Array("three".utf8), due: 2_000))
        first.write(
            [(mine, queue.takeChanges()), (other, [.put(.init(id: "x", body: [], due: 0))])],
            at: Self.noon,
            1_000
        )
        first.close()

        var second = file()
        // Three seconds later, after a restart of the monotonic clock.
        var kept = WebhookQueue(kept: second.messages(for: mine, at: Self.noon + .seconds(3), 0))
        #expect(kept.messages.map(\.id) == ["evt_1", "evt_3"])
        #expect(kept.messages.map { String(decoding: $0.body, as: UTF8.self) } == ["one", "three"])
        #expect(kept.messages[0].attempts == 1 && kept.messages[0].due == 0 + .seconds(2))
        #expect(kept.next(at: 0)?.id == "evt_3")
        kept.finish(.taken, at: 0)
        #expect(kept.due == 0 + .seconds(2) && kept.takeChanges() == [.remove(id: "evt_3")])
        // A clock that was set back makes no message wait longer than the schedule.
        #expect(second.messages(for: mine, at: Self.noon - .days(30), 0)[0].due == 0 + .seconds(5))
        second.keepOnly([mine])
        #expect(second.messages(for: other, at: Self.noon, 0).isEmpty)
        #expect(second.messages(for: mine, at: Self.noon, 0).count == 2)
        second.keepOnly([])
        #expect(second.messages(for: mine, at: Self.noon, 0).isEmpty)
        second.close()
        let bytes = try Data(contentsOf: URL(filePath: path))
        #expect(!bytes.contains(Data("s3cr3t".utf8)))
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test func messagesBeyondTheLimitAreDropped() {
        let kept = (0..<WebhookQueue.most + 2).map { WebhookQueue.Message(id: "\($0)", body: [], due: 0) }
        var queue = WebhookQueue(kept: kept)
        #expect(queue.messages.map(\.id) == kept.dropFirst(2).map(\.id))
        #expect(queue.takeChanges() == [.remove(id: "0"), .remove(id: "1")])
    }

    @Test func aDamagedFileIsPutAside() throws {
        try Data(repeating: 7, count: 9_000).write(to: URL(filePath: path))
        var file = file()
        let name = WebhookFile.name(of: "a")
        #expect(file.messages(for: name, at: Self.noon, 0).isEmpty)
        file.write([(name, [.put(.init(id: "evt", body: [], due: 0))])], at: Self.noon, 0)
        #expect(file.messages(for: name, at: Self.noon, 0).map(\.id) == ["evt"])
        file.close()
        #expect(FileManager.default.fileExists(atPath: path + ".damaged"))
    }
}
