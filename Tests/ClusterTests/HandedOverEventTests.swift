import Core
import Nostr
import Pipeline
import Synchronization
import Testing

@testable import Cluster

/// The events that members pass to each other. Any client with write access to the servers may have sent the bytes.
@Suite struct HandedOverEventTests {
    private static let json = Array(#"{"id":"1"}"#.utf8)
    private static let alice = PublicKey(Bytes32(words: (2, 2, 2, 2)))

    private static func order(_ request: [UInt8]) -> NotificationOrder? {
        request.isEmpty ? nil : NotificationOrder(.template("news"), request: request)
    }

    private static func carried(_ source: EventSource) throws -> HandedOverEvent {
        try #require(HandedOverEvent(HandedOverEvent(from: source, registry: 0x0102_0304, json: json).bytes))
    }

    @Test func anEventArrivesAsItWasSent() throws {
        let event = try Self.carried(.socket(authenticated: [Self.alice]))
        #expect(event.json == Self.json && event.registry == 0x0102_0304)
        guard case .socket(let keys, _)? = event.origin.source(Self.order) else {
            Issue.record("it came in at the socket")
            return
        }
        #expect(keys == [Self.alice])
    }

    @Test func aRequestTravelsWithItsEvent() throws {
        let request = Array(#"{"to":{"everybody":true},"title":"\u{e4}"}"#.utf8)
        let event = try Self.carried(.api(NotificationOrder(.template("news"), request: request)))
        #expect(event.json == Self.json)
        guard case .api(let order)? = event.origin.source(Self.order) else {
            Issue.record("somebody asked for it")
            return
        }
        #expect(order.request == request)
        // Requests with different content are submitted separately.
        #expect(try event.origin != Self.carried(.api(NotificationOrder(.template("news"), request: [1]))).origin)
        let unreadable = try Self.carried(.api(NotificationOrder(.template("news")))).origin.source(Self.order)
        #expect(unreadable.map { _ in true } == nil)
    }

    @Test func truncatedEventIsRefused() throws {
        let order = NotificationOrder(.template("news"), request: [1, 2, 3])
        let bytes = HandedOverEvent(from: .api(order), registry: 1, json: []).bytes
        for count in 0...bytes.count { #expect(HandedOverEvent(Array(bytes.prefix(count))) == nil) }
        #expect(HandedOverEvent(bytes + [0x7B]) != nil)
        var endless = bytes
        endless.replaceSubrange(10..<14, with: [0xFF, 0xFF, 0xFF, 0xFF])
        #expect(HandedOverEvent(endless + Self.json) == nil)
        #expect(HandedOverEvent([9] + bytes.dropFirst() + [1]) == nil)
    }
}

/// Counts of requested notifications on their way back from the owners of partitions.
struct HandedOverCountsTests {
    @Test func countsRoundTrip() {
        var counts = NotificationOrder.Counts()
        (counts.devices, counts.queued, counts.held) = (3, 1, 2)
        #expect(NotificationOrder.Counts(bytes: counts.bytes) == counts)
        counts.heldUntil = Timestamp(milliseconds: 1_773_446_400_000)
        #expect(NotificationOrder.Counts(bytes: counts.bytes) == counts)
        for text in ["", "1 2", "1 2 3 4 5", "a b c"] {
            #expect(NotificationOrder.Counts(bytes: Array(text.utf8)) == nil)
        }
    }

    @Test func notesOfAllOwnersAreReturnedOnce() {
        let ended = Mutex<[HandOverNotes?]>([])
        let join = HandOverJoin(2) { notes in ended.withLock { $0.append(notes) } }
        join.end([0: [1]])
        #expect(ended.withLock { $0 }.isEmpty)
        join.end([3: [2]])
        #expect(ended.withLock { $0 } == [[0: [1], 3: [2]]])
        let failed = HandOverJoin(2) { notes in ended.withLock { $0.append(notes) } }
        failed.end(nil)
        failed.end([:])
        #expect(ended.withLock { $0.last } == .some(nil))
    }
}
