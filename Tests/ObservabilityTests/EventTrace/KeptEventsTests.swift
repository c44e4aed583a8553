import Cipher
import Core
import Foundation
import Logging
import Nostr
import Testing
import TimeTestSupport

@testable import Observability

@Suite final class KeptEventsTests {
    private static let noon = Timestamp(seconds: 1_773_446_400)
    private let folder: URL
    private let path: String
    private let clock = ManualClock(KeptEventsTests.noon)
    private let author = PublicKey(Bytes32(words: (1, 1, 1, 1)))
    private let account = PublicKey(Bytes32(words: (5, 5, 5, 5)))

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "kept-" + Hex.encode(SecureRandom.bytes(8))
        )
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        path = folder.appendingPathComponent("store-events").path
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    private func store(limit: Int = KeptEvents.maxBytes) -> KeptEvents {
        KeptEvents(path: path, age: .hours(24), limit: limit, now: clock.now, logger: Logger(label: "test"))
    }

    private func event(
        _ number: Int,
        kind: Kind = .textNote,
        tags: [[String]] = [],
        content: String = "hello"
    ) -> Event {
        Event(
            id: EventID(Bytes32(words: (UInt64(number), 7, 7, 7))),
            pubkey: author,
            createdAt: clock.now().seconds,
            kind: kind,
            tags: tags,
            content: content,
            signature: Signature(first: Bytes32(words: (2, 2, 2, 2)), second: Bytes32(words: (3, 3, 3, 3)))
        )
    }

    private func deletion(_ tags: [[String]], kind: Kind = .deletion) throws -> Deletion {
        try #require(Deletion(event(99, kind: kind, tags: tags)))
    }

    private func kept(limit: Int = 100) throws -> [KeptEvent] {
        try KeptEventsReader(path: path).page(since: clock.now() - .hours(24), at: clock.now(), limit: limit).events
    }

    private func numbers(limit: Int = 100) throws -> [UInt64] {
        try kept(limit: limit).map { $0.event.id.bytes.words.0 }
    }

    /// If the disk is too slow for deletions, all kept events are dropped, so that no deleted event stays.
    @Test func tooManyPendingDeletionsEraseTheStore() throws {
        let store = KeptEvents(
            path: path,
            age: .hours(24),
            maxWithdrawn: 2,
            now: clock.now,
            logger: Logger(label: "test")
        )
        store.decided(event(1), for: [account])
        store.decided(event(2), for: [account])
        store.flush()
        store.decided(event(3), for: [account])
        for number in 4...6 { store.withdrawn(try deletion([["e", event(number).id.hex]])) }
        store.decided(event(7), for: [account])
        store.flush()
        #expect(try numbers() == [7])
        store.close()
    }

    @Test func eventsAreKeptWithTheirAccountsNewestFirst() throws {
        let store = store()
        let note = event(1, tags: [["p", account.hex]], content: "héllo \"you\"\n")
        store.decided(note, for: [account])
        clock.advance(by: .seconds(1))
        store.decided(event(2), for: [account, author])
        store.decided(event(2), for: [account])
        store.flush()
        let events = try kept()
        #expect(events.map(\.event.id) == [event(2).id, note.id])
        #expect(events.map(\.accounts) == [[account, author], [account]])
        #expect(events[1].event == note)
        #expect(events[1].time == Self.noon)
        #expect(try numbers(limit: 1) == [2])
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    /// In a cluster, each partition reports which of its accounts an event concerned.
    @Test func accountsThatComeLaterAreAdded() throws {
        let store = store()
        store.decided(event(1), for: [account])
        store.decided(event(1), for: [author, account])
        store.flush()
        #expect(try kept().map(\.accounts) == [[account, author]])
    }

    @Test func pagesContinueAfterThePrevious() throws {
        let store = store()
        for number in 1...5 { store.decided(event(number), for: [account]) }
        store.flush()
        let reader = KeptEventsReader(path: path)
        var (numbers, before, pages): ([UInt64], Int64?, Int) = ([], nil, 0)
        repeat {
            // An event is some 400 bytes.
            let page = try reader.page(since: .epoch, at: clock.now(), before: before ?? .max, limit: 100, bytes: 500)
            numbers += page.events.map { $0.event.id.bytes.words.0 }
            (before, pages) = (page.next, pages + 1)
        } while before != nil
        #expect(numbers == [5, 4, 3, 2, 1] && pages > 2)
        #expect(try reader.page(since: .epoch, at: clock.now(), limit: 2).next != nil)
        #expect(try reader.page(since: .epoch, at: clock.now(), limit: 9).next == nil)
    }

    @Test(arguments: [Kind.giftWrap, .ephemeralGiftWrap, .encryptedDirectMessage, .chatMessage])
    func keepsNoContentOfMessages(kind: Kind) throws {
        let store = store()
        store.decided(event(1, kind: kind, tags: [["p", account.hex]], content: "in-confidence"), for: [account])
        store.flush()
        #expect(try kept().map(\.event.content) == [""])
        store.close()
        #expect(try !Data(contentsOf: URL(filePath: path)).contains(Data("in-confidence".utf8)))
    }

    @Test func oldAndExpiredEventsAreForgotten() throws {
        let store = store()
        store.decided(event(1), for: [account])
        let soon = "\(clock.now().seconds + 7_200)"
        store.decided(event(2, tags: [["expiration", soon]]), for: [account])
        store.flush()
        clock.advance(by: .hours(1))
        store.decided(event(3), for: [account])
        store.flush()
        #expect(try numbers() == [3, 2, 1])
        clock.advance(by: .hours(1))
        #expect(try numbers() == [3, 1], "it expired, though it is on disk still")
        clock.advance(by: .hours(22) + .seconds(1))
        store.dropExpired()
        store.flush()
        #expect(try KeptEventsReader(path: path).page(since: .epoch, at: clock.now(), limit: 9).events.count == 1)
    }

    @Test func deletedEventsAreForgotten() throws {
        let store = store()
        store.decided(event(1), for: [account])
        store.decided(event(2, kind: .longFormContent, tags: [["d", "post"]]), for: [account])
        store.decided(event(3, kind: .longFormContent, tags: [["d", "other"]]), for: [account])
        store.decided(event(4), for: [account])
        store.withdrawn(try deletion([["e", event(1).id.hex], ["a", "30023:\(author.hex):post"]]))
        store.flush()
        #expect(try numbers() == [4, 3])
        let others = Event(foreign: event(98, kind: .deletion, tags: [["e", event(4).id.hex]]), account)
        store.withdrawn(try #require(Deletion(others)))
        store.flush()
        #expect(try numbers() == [4, 3], "only its author may")
        store.withdrawn(try deletion([["relay", Deletion.allRelays]], kind: .requestToVanish))
        store.flush()
        #expect(try numbers().isEmpty)
    }

    @Test func sizeStaysWithinItsLimit() throws {
        let limit = 200_000
        let store = store(limit: limit)
        for number in 1...500 {
            store.decided(event(number, content: String(repeating: "x", count: 1_000)), for: [account])
            if number.isMultiple(of: 50) { store.flush() }
        }
        store.decided(event(1_000, content: String(repeating: "x", count: 40_000)), for: [account])
        store.flush()
        let events = try kept(limit: 1_000)
        #expect(events.map(\.event.json.count).reduce(0, +) <= limit)
        #expect(try numbers(limit: 1) == [500], "the long one is left out, the newest are there")
        #expect(events.count > 50)
    }

    @Test func storeContinuesAfterARestartAndRestartsWhenDamaged() throws {
        var store = store()
        store.decided(event(1), for: [account])
        store.close()
        store.decided(event(2), for: [account])
        store.flush()
        #expect(try numbers() == [1])
        store = self.store()
        store.decided(event(3), for: [account])
        store.close()
        #expect(try numbers() == [3, 1])
        try Data(repeating: 7, count: 9_000).write(to: URL(filePath: path))
        store = self.store()
        store.decided(event(4), for: [account])
        store.flush()
        store.decided(event(5), for: [account])
        store.flush()
        #expect(try numbers() == [5])
        store.close()
        KeptEvents.discard(path: path)
        #expect(try numbers().isEmpty)
        #expect(!FileManager.default.fileExists(atPath: path))
    }
}

extension Event {
    /// The same of another author.
    fileprivate init(foreign event: Event, _ author: PublicKey) {
        self = event
        pubkey = author
    }
}
