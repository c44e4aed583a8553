import Core
import Delivery
import Dispatch
import NIOCore
import Nostr
import Pipeline
import Push
import Synchronization
import Testing
import TimeTestSupport

@testable import Operations

/// The live events that members of a cluster show each other.
struct LiveSharingTests {
    private static func key(_ byte: UInt8) -> PublicKey { PublicKey(Bytes32(words: (UInt64(byte), 0, 0, 0))) }
    private static func event(_ byte: UInt8) -> EventID { EventID(Bytes32(words: (UInt64(byte), 0, 0, 0))) }

    private static func step(_ byte: UInt8) -> LiveEntry {
        var step = TraceStep(step: .queued, event: event(byte), account: key(byte))
        step.device = DeviceID(rawValue: 7)
        step.reason = "rule \"a\"\twith\na break"
        var entry = LiveEntry(step, at: 1_000)
        entry.member = "b"
        return entry
    }

    private static let all: Set<LiveFilter> = [LiveFilter()]

    /// Two members: `a` reads, `b` is asked.
    private var (reader, asked) = (LiveSharing("a"), LiveSharing("b"))

    /// Sends the filters that are read at `a` to `b`.
    private mutating func ask(_ filters: Set<LiveFilter> = all, now: Deadline = 0) -> [LiveGap] {
        let (messages, gaps) = reader.round(filters, others: ["b"], now: now)
        for message in messages { _ = asked.receive(message.bytes, now: now) }
        return gaps
    }

    private mutating func tell(_ entries: [LiveEntry], lost: Int = 0, now: Deadline = 0) -> LiveSharing.News? {
        let messages = asked.frames(entries, lost: lost, now: now)
        #expect(messages.allSatisfy { $0.member == "a" } && messages.count <= 1)
        return messages.first.flatMap { reader.receive($0.bytes, now: now) }
    }

    @Test mutating func readerHearsOfOtherMembersEvents() throws {
        #expect(tell([Self.step(1)]) == nil && !asked.hasAudience)
        #expect(ask().isEmpty && asked.hasAudience)
        let told = tell([Self.step(1), Self.step(2)], lost: 3)
        let news = try #require(told)
        #expect(news.entries.map(\.json) == [Self.step(1), Self.step(2)].map(\.json))
        #expect(news.entries[0].json.contains(#""member":"b""#))
        let first = news.entries[0]
        #expect(first.event == Self.event(1) && first.account == Self.key(1) && first.device?.rawValue == 7)
        #expect(first.kind == .step && first.member == "b" && first.isElsewhere && first.time == 1_000)
        #expect(news.gaps == [LiveGap(cause: .slow, count: 3, member: "b")])
    }

    @Test mutating func onlyRequestedEventsAreShared() throws {
        _ = ask([LiveFilter(event: Self.event(2))])
        #expect(tell([Self.step(1), Self.step(2)])?.entries.map(\.event) == [Self.event(2)])
        #expect(tell([Self.step(1)]) == nil)
        // The filters change.
        _ = ask([LiveFilter(kinds: [.outcome], account: Self.key(1)), LiveFilter(event: Self.event(1))], now: 1)
        #expect(asked.needsAccounts && !asked.needsQueues)
        #expect(tell([Self.step(1), Self.step(2)])?.entries.map(\.event) == [Self.event(1)])
        // The last reader has left, and `a` announces that once.
        _ = ask([], now: 2)
        #expect(!asked.hasAudience)
        #expect(reader.round([], others: ["b"], now: 60_000).0.isEmpty)
    }

    @Test mutating func manyDifferentReadersShareOneRequest() throws {
        _ = ask(Set((0..<40).map { LiveFilter(event: Self.event($0)) }))
        #expect(tell([Self.step(99)])?.entries.count == 1)
    }

    @Test mutating func eventsPerMessageAreBounded() throws {
        _ = ask()
        let told = tell((0..<2_000).map { Self.step(UInt8($0 % 200)) })
        let news = try #require(told)
        #expect(news.entries.count < 1_000)
        #expect(news.gaps == [LiveGap(cause: .slow, count: 2_000 - news.entries.count, member: "b")])
    }

    /// A member that dies is reported once after a while, and is heard again when it returns.
    @Test mutating func silentMemberIsNamed() throws {
        #expect(ask().isEmpty)
        _ = tell([Self.step(1)], now: 1_000)
        #expect(ask(now: 10_999).isEmpty)
        #expect(ask(now: 11_000) == [LiveGap(cause: .member, count: nil, member: "b")])
        #expect(ask(now: 60_000).isEmpty)
        asked = LiveSharing("b")
        _ = ask(now: 63_000)
        let told = tell([Self.step(1)], now: 63_000)
        let news = try #require(told)
        #expect(news.entries.count == 1 && news.gaps.isEmpty)
        #expect(ask(now: 73_000) == [LiveGap(cause: .member, count: nil, member: "b")])
    }

    /// A member without news sends a message anyway, so that it does not count as silent.
    @Test mutating func emptyMessageShowsThatAMemberIsAlive() {
        for second in 0..<30 {
            let now = Deadline(milliseconds: Int64(second) * 1_000)
            #expect(ask(now: now).isEmpty)
            for message in asked.round([], others: ["a"], now: now).0 { _ = reader.receive(message.bytes, now: now) }
        }
    }

    /// A reader that is gone is forgotten after a while.
    @Test mutating func aReaderThatDiesIsForgotten() {
        _ = ask()
        _ = asked.round([], others: ["a"], now: 9_999)
        #expect(asked.hasAudience)
        _ = asked.round([], others: ["a"], now: 10_000)
        #expect(!asked.hasAudience)
    }

    @Test mutating func lostMessageIsReportedAsAGap() throws {
        _ = ask()
        _ = tell([Self.step(1)])
        // NATS loses this one.
        _ = asked.frames([Self.step(2)], lost: 0, now: 0)
        let told = tell([Self.step(3)])
        let news = try #require(told)
        #expect(news.entries.count == 1 && news.gaps == [LiveGap(cause: .member, count: nil, member: "b")])
    }

    /// A member that left in order had no more messages.
    @Test mutating func memberThatLeavesIsNotReportedMissing() {
        _ = ask()
        let (_, gaps) = reader.round(Self.all, others: [], now: 20_000)
        #expect(gaps.isEmpty)
    }

    @Test mutating func invalidMessageOfAMemberIsIgnored() throws {
        _ = ask()
        let lines = ["b\t1\t0", "step\tx", "step\t5\t\t\t\t\t\t{\"at\":1}\r", "nonsense\t5\t\t\t\t\t\t{}"]
        let received = reader.receive([1] + Array(lines.joined(separator: "\n").utf8), now: 0)
        let news = try #require(received)
        #expect(news.entries.isEmpty && news.gaps == [LiveGap(cause: .slow, count: 3, member: "b")])
        for bytes: [UInt8] in [[], [0], [1], [2, 3], [0, 123], [1, 255, 254]] {
            #expect(reader.receive(bytes, now: 0) == nil)
        }
        // A message from a member that was not asked.
        let stranger = LiveFrame.bytes(of: "c", 1, lost: 0, [LiveFrame.line(Self.step(1))])
        let unasked = reader.receive(stranger, now: 0)
        #expect(unasked?.entries.isEmpty == true)
    }
}

/// Streams of several members that receive each other's messages immediately.
struct SharedLiveStreamTests {
    private final class Peers: LivePeers {
        let name: String
        let others: [String]
        private let streams: Mutex<[String: LiveStream]>

        init(_ name: String, _ streams: [String: LiveStream]) {
            (self.name, others) = (name, streams.keys.filter { $0 != name }.sorted())
            self.streams = Mutex(streams)
        }

        func tell(_ bytes: [UInt8], to member: String) { streams.withLock { $0[member] }?.receive(bytes) }
    }

    @Test func aReaderOfOneMemberSeesAll() async throws {
        let names = ["a", "b", "c"]
        let rounds = DispatchQueue(label: "rounds")
        let streams = names.reduce(into: [String: LiveStream]()) { streams, name in
            streams[name] = LiveStream(readers: 9, device: { _ in nil }, now: { 5 }) { pause, round in
                rounds.asyncAfter(deadline: .now() + .milliseconds(Int(pause.milliseconds)), execute: round)
            }
        }
        for (name, stream) in streams { stream.share(with: Peers(name, streams)) }
        let reader = try #require(streams["a"]).open(LiveFilter(), after: nil)
        var text = ""
        // The stream announces its filters automatically. Events from before the others received that are not shown.
        while !names.allSatisfy({ text.contains("\"member\":\"\($0)\"") }) {
            for stream in streams.values {
                stream.trace([TraceStep(step: .queued, event: EventID(Bytes32(words: (1, 0, 0, 0))))], at: 3)
            }
            text += String(buffer: try #require(await reader.next()))
        }
        // No reader gets an event twice: members do not pass on events of other members.
        let ids = text.split(separator: "\n").filter { $0.hasPrefix("id: ") }
        #expect(Set(ids).count == ids.count)
        for stream in streams.values { stream.close() }
    }
}
