import Testing

@testable import CarillonLab

struct RecordTests {
    private func request(_ target: String, bytes: Int = 0) -> ReceivedRequest {
        .sample(target, body: [UInt8](repeating: 0, count: bytes))
    }

    @Test func theOldestGoFirstWhenThereAreTooMany() {
        var record = Record<Int>(maximumCount: 2, maximumBytes: 1_000_000)
        for target in ["a", "b", "c"] {
            _ = record.add(request(target))
        }
        #expect(record.requests.map(\.target) == ["b", "c"])
        #expect(record.requests.map(\.sequence) == [2, 3])
    }

    @Test func theOldestGoFirstWhenTheyAreTooLarge() {
        var record = Record<Int>(maximumCount: 100, maximumBytes: 3_000)
        for target in ["a", "b", "c"] {
            _ = record.add(request(target, bytes: 1_000))
        }
        #expect(record.requests.map(\.target) == ["b", "c"])
        _ = record.add(request("huge", bytes: 10_000))
        #expect(record.requests.map(\.target) == ["huge"])
    }

    @Test func everyUnreadRequestIsHandedOutOnce() {
        var record = Record<Int>(maximumCount: 10, maximumBytes: 1_000_000)
        #expect(record.awaitUnread(1).satisfied.isEmpty)
        #expect(record.awaitUnread(2).satisfied.isEmpty)
        let first = record.add(request("a"))
        #expect(first.map(\.promise) == [1])
        #expect(first.first?.requests.map(\.target) == ["a"])
        #expect(record.add(request("b")).map(\.promise) == [2])
        _ = record.add(request("c"))
        #expect(record.awaitUnread(3).satisfied.first?.requests.map(\.target) == ["c"])
    }

    @Test func unreadRequestsThatWereDroppedAreSkipped() {
        var record = Record<Int>(maximumCount: 1, maximumBytes: 1_000_000)
        _ = record.add(request("a"))
        _ = record.add(request("b"))
        #expect(record.awaitUnread(1).satisfied.first?.requests.map(\.target) == ["b"])
        record.removeAll()
        #expect(record.awaitUnread(2).satisfied.isEmpty)
    }

    @Test func aCountIsOfThoseThatMatch() {
        var record = Record<Int>(maximumCount: 10, maximumBytes: 1_000_000)
        _ = record.add(request("a"))
        _ = record.awaitCount(2, matching: { $0.target == "a" }, 1)
        #expect(record.add(request("b")).isEmpty)
        #expect(record.add(request("a")).first?.requests.map(\.sequence) == [1, 3])
        #expect(record.awaitCount(0, matching: { _ in false }, 2).satisfied.first?.requests.isEmpty == true)
    }

    @Test func abandonedWaiterGetsNoResponse() {
        var record = Record<Int>(maximumCount: 10, maximumBytes: 1_000_000)
        let (id, _) = record.awaitUnread(7)
        #expect(record.giveUp(id) == 7)
        #expect(record.giveUp(id) == nil)
        #expect(record.add(request("a")).isEmpty)
        _ = record.awaitCount(5, matching: { _ in true }, 8)
        #expect(record.close() == [8])
    }
}

extension ReceivedRequest {
    static func sample(
        _ target: String = "",
        status: Int? = 200,
        misbehaviour: ScriptedBehavior.Action? = nil,
        body: [UInt8] = []
    ) -> ReceivedRequest {
        ReceivedRequest(
            service: .apns,
            receivedAt: 0,
            connection: 1,
            method: "POST",
            path: "/",
            target: target,
            status: status,
            misbehaviour: misbehaviour,
            headers: [],
            body: body
        )
    }
}
