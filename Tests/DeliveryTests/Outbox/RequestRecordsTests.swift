import Core
import Foundation
import GRDB
import Testing
import TimeTestSupport

@testable import Delivery

/// Records of requests, so that a notification is not sent twice.
struct RequestRecordsTests {
    private static func record(
        _ id: UInt8,
        sender: UInt8 = 1,
        key: UInt8? = nil,
        body: UInt8 = 1,
        at time: Timestamp = 1_000
    ) -> RequestRecord {
        func bytes(_ byte: UInt8, _ count: Int = 32) -> [UInt8] { Array(repeating: byte, count: count) }
        return RequestRecord(
            id: bytes(id, 16),
            sender: bytes(sender),
            key: key.map { bytes($0) },
            body: bytes(body),
            createdAt: time
        )
    }

    @Test func theSameKeyOfTheSameSenderIsTheSameRequest() throws {
        let outbox = try Outbox(DatabaseQueue())
        let first = Self.record(1, key: 9)
        let others = [Self.record(2, key: 9, body: 2), Self.record(3, sender: 2, key: 9), Self.record(4)]
        #expect(try RequestStore(outbox).remember([first]) == [first])
        #expect(try RequestStore(outbox).remember(others) == [first, others[1], others[2]])
        var done = first
        done.events = [Array(repeating: 5, count: 32), Array(repeating: 6, count: 32)]
        done.answer = #"{"devices":2}"#
        #expect(try RequestStore(outbox).remember([], done: [done]).isEmpty)
        #expect(try RequestStore(outbox).remember([Self.record(5, key: 9)]) == [done])
        #expect(try RequestStore(outbox).find(done.id) == done)
        #expect(try RequestStore(outbox).find(done.sender, key: done.key ?? []) == done)
        #expect(try RequestStore(outbox).find(Array(repeating: 7, count: 16)) == nil)
    }

    @Test func duplicateRequestsInABatchAreOne() throws {
        let outbox = try Outbox(DatabaseQueue())
        let both = [Self.record(1, key: 9), Self.record(2, key: 9)]
        #expect(try RequestStore(outbox).remember(both) == [both[0], both[0]])
    }

    @Test func aKeyIsFreeAfterADay() throws {
        let outbox = try Outbox(DatabaseQueue())
        let first = Self.record(1, key: 9)
        _ = try RequestStore(outbox).remember([first])
        let day = first.createdAt + RequestStore.lifetime
        #expect(
            try RequestStore(outbox).remember([Self.record(2, key: 9, at: day - .milliseconds(1))]).map(\.id) == [
                first.id
            ]
        )
        let later = Self.record(3, key: 9, at: day)
        #expect(try RequestStore(outbox).remember([later]) == [later])
        #expect(try RequestStore(outbox).find(first.id) == nil)
    }

    @Test func requestRecordSurvivesARestart() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("outbox.sqlite")
        let first = Self.record(1, key: 9)
        _ = try RequestStore(Outbox(path: path)).remember([first])
        #expect(try RequestStore(Outbox(path: path)).find(first.id) == first)
        #expect(try OutboxReader(path: path).request(first.id) == first)
    }
}
