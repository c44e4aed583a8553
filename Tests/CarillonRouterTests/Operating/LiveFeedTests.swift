import Console
import Core
import Delivery
import DeliveryTestSupport
import Foundation
import NIOCore
import Nostr
import Pipeline
import Push
import Synchronization
import Testing
import TimeTestSupport

@testable import Operations
@testable import Registry

struct LiveFeedTests {
    private static func words(_ byte: UInt8) -> Bytes32 { Bytes32(words: (UInt64(byte), 0, 0, 0)) }
    private static func event(_ byte: UInt8) -> EventID { EventID(words(byte)) }
    private static func key(_ byte: UInt8) -> PublicKey { PublicKey(words(byte)) }

    private static func step(_ byte: UInt8, device: Int64? = nil, delivery: DeliveryID? = nil) -> LiveEntry {
        var step = TraceStep(step: .queued, event: event(byte), account: key(byte))
        step.device = device.map(DeviceID.init(rawValue:))
        step.delivery = delivery
        step.reason = "rule \"a\""
        return LiveEntry(step, at: 1_000)
    }

    private static func report(_ delivery: DeliveryID, device: Int64, app: String = "default") -> DeliveryReport {
        DeliveryReport(
            delivery: delivery,
            device: DeviceID(rawValue: device),
            queue: QueueName(platform: "ios", app: app),
            kind: .rejected,
            status: 400,
            reason: "bad",
            attempt: 1
        )
    }

    private static func feed(_ change: (inout LiveFeed.Limits) -> Void = { _ in }) -> LiveFeed {
        var limits = LiveFeed.Limits(readers: 3)
        change(&limits)
        var runs = 0
        return LiveFeed(limits) {
            runs += 1
            return "run\(runs)"
        }
    }

    private func join(
        _ feed: inout LiveFeed,
        _ filter: LiveFilter,
        after last: String?,
        now: Deadline
    ) throws -> (id: LiveFeed.ReaderID, inPlaceOf: LiveFeed.ReaderID?, frames: [LiveFeed.Frame]) {
        let joined = feed.join(filter, after: last, now: now)
        return try #require(joined)
    }

    private static func text(_ frames: [LiveFeed.Frame]) -> String {
        frames.map { String(buffer: $0.bytes) }.joined()
    }

    @Test func readersGetOnlyRequestedEvents() throws {
        var feed = Self.feed()
        let all = try join(&feed, LiveFilter(), after: nil, now: 0).id
        let one = try join(&feed, LiveFilter(event: Self.event(2)), after: nil, now: 0).id
        let outcomes = try join(&feed, LiveFilter(kinds: [.outcome]), after: nil, now: 0).id
        let further = feed.join(LiveFilter(), after: nil, now: 0)
        #expect(further?.id == nil)
        let sent = feed.take([Self.step(1), Self.step(2)], lost: 0, now: 1)
        let byReader = Dictionary(grouping: sent, by: \.reader).mapValues { Self.text($0.map(\.frame)) }
        #expect(byReader[all]?.components(separatedBy: "event: step").count == 3)
        #expect(byReader[one]?.hasPrefix("id: run1.2\nevent: step\ndata: {") == true)
        #expect(byReader[outcomes] == nil)
        feed.leave(outcomes, now: 2)
        _ = try join(&feed, LiveFilter(), after: nil, now: 0)
    }

    @Test func clientWithTheMostReadersIsEvicted() throws {
        var feed = Self.feed()
        func join(_ name: String) -> (id: LiveFeed.ReaderID, inPlaceOf: LiveFeed.ReaderID?, frames: [LiveFeed.Frame])? {
            feed.join(LiveFilter(), for: .agent(name, [.read]), after: nil, now: 0)
        }
        let ids = [join("greedy"), join("greedy"), join("greedy")].map { $0?.id }
        #expect(join("greedy")?.id == nil)
        #expect(join("modest")?.inPlaceOf == ids[0])
        // Replacing a reader would only swap two connections.
        #expect(join("modest")?.id == nil && join("greedy")?.id == nil)
        #expect(join("third")?.inPlaceOf == ids[1])
        #expect(join("fourth")?.id == nil && feed.count == 3)
    }

    @Test func evictedReaderIsNotified() async throws {
        let stream = LiveStream(readers: 2, device: { _ in nil }, now: { 5 }, monotonic: { 5 }, later: { _, _ in })
        let greedy = try (0..<2).map { _ in
            try stream.open(LiveFilter(), for: .agent("greedy", [.read]), after: nil)
        }
        _ = try stream.open(LiveFilter(), for: .agent("modest", [.read]), after: nil)
        _ = await greedy[0].next()
        #expect(await greedy[0].next() == nil)
        // The reader has left already.
        greedy[0].end()
        #expect(throws: (any Error).self) { try stream.open(LiveFilter(), for: .agent("third", [.read]), after: nil) }
        stream.close()
    }

    @Test func issuesHaveACode() {
        let params = Statement("no-relay", ["count": "2"])
        var issue = RouterStatus.Issue(code: "no-relay", message: "none", params: params, fix: "look", severity: .error)
        let entry = LiveEntry(issue, isResolved: false, at: 1_000)
        #expect(
            entry.json.contains(
                #""code":"no-relay","words":"none","params":{"code":"no-relay","values":{"count":"2"}}"#
            )
        )
        issue.params = nil
        #expect(!LiveEntry(issue, isResolved: true, at: 1_000).json.contains("params"))
    }

    @Test func reconnectingReaderGetsMissedEvents() throws {
        var feed = Self.feed { $0.kept = 3 }
        let first = try join(&feed, LiveFilter(), after: nil, now: 0).id
        _ = feed.take((1...5).map { Self.step($0) }, lost: 0, now: 1)
        feed.leave(first, now: 2)
        func again(_ last: String) throws -> String {
            let joined = try join(&feed, LiveFilter(), after: last, now: 3)
            feed.leave(joined.id, now: 3)
            return Self.text(joined.frames)
        }
        let some = try again("run1.4")
        #expect(some.contains("id: run1.5\n") && !some.contains("run1.4") && !some.contains("lost"))
        let old = try again("run1.0")
        #expect(old.contains("event: lost\ndata: {\"why\":\"old\",\"count\":2}\n\n") && old.contains("id: run1.3\n"))
        let other = try again("run0.4")
        #expect(other.contains("{\"why\":\"restart\"}") && !other.contains("id:"))
    }

    @Test(arguments: ["", ".", "run1", "run1.x", "run1.-1", "run1.99", "run1.4.4"])
    func invalidLastEventIDReportsAGap(_ last: String) throws {
        var feed = Self.feed()
        let joined = try join(&feed, LiveFilter(), after: last, now: 0)
        #expect(Self.text(joined.frames).contains("\"why\":\"restart\""))
    }

    @Test func unreadEventsAreForgottenAndNumbersRestart() throws {
        var feed = Self.feed()
        let first = try join(&feed, LiveFilter(), after: nil, now: 0).id
        _ = feed.take([Self.step(1)], lost: 0, now: 1)
        feed.leave(first, now: 10)
        let moments: [Deadline] = [10, 60_009, 60_010]
        let answers = moments.map { feed.isAbandoned(now: $0) }
        #expect(answers == [false, false, true])
        let joined = try join(&feed, LiveFilter(), after: "run1.1", now: 70_000)
        #expect(Self.text(joined.frames).contains("\"why\":\"restart\""))
        let isAbandoned = feed.isAbandoned(now: 999_999)
        #expect(!isAbandoned)
    }

    @Test func idleReaderGetsAKeepAlive() throws {
        var feed = Self.feed()
        let reader = try join(&feed, LiveFilter(event: Self.event(9)), after: nil, now: 0).id
        let nothing = feed.take([], lost: 0, now: 14_999)
        #expect(nothing.isEmpty)
        let sent = feed.take([Self.step(1)], lost: 0, now: 15_000)
        #expect(sent.map(\.reader) == [reader] && Self.text(sent.map(\.frame)) == ":\n\n")
        let stillNothing = feed.take([], lost: 0, now: 29_999)
        #expect(stillNothing.isEmpty)
    }

    @Test func eventsBeyondAReadersLimitAreCounted() throws {
        var feed = Self.feed { $0.bytesAtATime = 600 }
        _ = feed.join(LiveFilter(), after: nil, now: 0)
        let sent = feed.take((1...20).map { Self.step($0) }, lost: 5, now: 1)
        let text = Self.text(sent.map(\.frame))
        let count = text.components(separatedBy: "event: step").count - 1
        #expect(count > 0 && count < 20)
        #expect(text.hasSuffix("event: lost\ndata: {\"why\":\"slow\",\"count\":\(20 - count + 5)}\n\n"))
        // The sequence numbers also count the events that no reader got.
        let next = Self.text(feed.take([Self.step(1)], lost: 0, now: 2).map(\.frame))
        #expect(next.hasPrefix("id: run1.26\n"))
    }

    @Test func slowReaderKeepsTheNewestEventsAndLearnsTheGap() {
        var mailbox = LiveMailbox(limit: 10)
        for number in 1...4 {
            mailbox.put(LiveFeed.Frame(bytes: ByteBuffer(string: "frame\(number)"), entries: number))
        }
        mailbox.put(LiveFeed.Frame(bytes: ByteBuffer(string: ":\n\n"), entries: 0))
        var taken: [String] = []
        while let part = mailbox.take() { taken.append(String(buffer: part)) }
        #expect(taken == ["event: lost\ndata: {\"why\":\"slow\",\"count\":6}\n\n", "frame4"])
        mailbox.put(LiveFeed.Frame(bytes: ByteBuffer(string: String(repeating: "x", count: 99)), entries: 1))
        let (large, nothing) = (mailbox.take(), mailbox.take())
        #expect(large?.readableBytes == 99 && nothing == nil)
    }

    @Test func outcomeIsShownWithItsEvent() async throws {
        let stream = LiveStream(readers: 9, device: { _ in nil }, now: { 5 }, monotonic: { 5 }, later: { _, _ in })
        let account = try stream.open(LiveFilter(account: Self.key(1)), after: nil)
        let app = try stream.open(LiveFilter(app: "other"), after: nil)
        for reader in [account, app] { _ = await reader.next() }
        var step = TraceStep(step: .queued, event: Self.event(1), account: Self.key(1))
        step.device = DeviceID(rawValue: 7)
        step.delivery = "d1"
        stream.trace([step], at: 3)
        stream.deliveriesReported([Self.report("d1", device: 7), Self.report("d2", device: 8, app: "other")])
        stream.serve()
        // The owner of d2 is unknown, so the stream waits for a round.
        stream.serve()
        let text = String(buffer: try #require(await account.next()))
        let (first, second) = ("d1" as DeliveryID, "d2" as DeliveryID)
        #expect(text.contains("\"outcome\":\"rejected\"") && text.contains("\"event\":\"\(Self.event(1).hex)\""))
        #expect(text.contains("\"delivery\":\"\(first)\"") && !text.contains("\"\(second)\""))
        let other = String(buffer: try #require(await app.next()))
        #expect(other.contains("\"\(second)\"") && !other.contains("\"\(first)\""))
        account.end()
        #expect(await account.next() == nil)
        stream.close()
        #expect(await app.next() == nil)
        #expect(throws: (any Error).self) { try stream.open(LiveFilter(), after: nil) }
    }

    @Test func anOutcomeThatComesBeforeItsStepIsShownAfterIt() async throws {
        let stream = LiveStream(readers: 9, device: { _ in nil }, now: { 5 }, monotonic: { 5 }, later: { _, _ in })
        let reader = try stream.open(LiveFilter(), after: nil)
        _ = await reader.next()
        let (first, second) = ("d1" as DeliveryID, "d2" as DeliveryID)
        stream.deliveriesReported([Self.report(first, device: 7)])
        stream.serve()
        var step = TraceStep(step: .queued, event: Self.event(1), account: Self.key(1))
        step.delivery = first
        stream.trace([step], at: 3)
        stream.serve()
        stream.deliveriesReported([Self.report(second, device: 8)])
        var text = String(buffer: try #require(await reader.next()))
        #expect(text.contains("\"outcome\":\"rejected\""))
        #expect(text.components(separatedBy: "\"event\":\"\(Self.event(1).hex)\"").count == 3)
        stream.serve()
        stream.serve()
        text = String(buffer: try #require(await reader.next()))
        #expect(text.contains("\"delivery\":\"\(second)\"") && !text.contains("\"\(first)\""))
        stream.serve()
        stream.close()
        #expect(await reader.next() == nil)
    }

    @Test func platformIsLookedUpOnlyForReadersThatFilter() async throws {
        let looked = LookUps()
        let stream = LiveStream(readers: 9, device: looked.find, now: { 5 }, monotonic: { 5 }, later: { _, _ in })
        let all = try stream.open(LiveFilter(), after: nil)
        _ = await all.next()
        var step = TraceStep(step: .held, event: Self.event(1), account: Self.key(1))
        step.device = DeviceID(rawValue: 7)
        stream.trace([step], at: 3)
        stream.serve()
        #expect(looked.count == 0)
        let some = try stream.open(LiveFilter(platform: "ios"), after: nil)
        _ = await some.next()
        for _ in 0..<3 {
            stream.trace([step], at: 3)
            stream.serve()
        }
        #expect(looked.count == 1)
        #expect(String(buffer: try #require(await some.next())).contains("\"platform\":\"ios\""))
        stream.close()
    }

    @Test func eventsAreNotKeptWithoutReaders() async throws {
        let stream = LiveStream(readers: 9, device: { _ in nil }, now: { 5 }, monotonic: { 5 }, later: { _, _ in })
        stream.deliveriesReported([Self.report("before", device: 1)])
        let reader = try stream.open(LiveFilter(), after: nil)
        _ = await reader.next()
        stream.deliveriesReported([Self.report("after", device: 1)])
        stream.serve()
        stream.serve()
        let text = String(buffer: try #require(await reader.next()))
        let (before, after) = ("before" as DeliveryID, "after" as DeliveryID)
        #expect(text.contains(after.description) && !text.contains(before.description))
        stream.close()
    }
}

private final class LookUps: Sendable {
    private let counted = Mutex(0)

    var count: Int { counted.withLock(\.self) }

    @Sendable func find(_ device: DeviceID) -> DeviceListing? {
        counted.withLock { $0 += 1 }
        let key = PublicKey(Bytes32(words: (1, 0, 0, 0)))
        return DeviceListing(
            device: device,
            slot: RegistrationSlot(author: key),
            account: key,
            route: Route(platform: "ios", app: "default"),
            mode: nil,
            signals: [],
            createdAt: 0,
            registeredAt: 0,
            firstRegisteredAt: 0,
            countsUntil: nil,
            waitsForCode: false
        )
    }
}
