import Testing

@testable import Delivery

/// Whether commands detect that a queue is almost full.
struct OutboxReaderRoomTests {
    @Test func queueIsCrowdedFromOneHostsShareOn() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("outbox")
        let outbox = try Outbox(path: path)
        let reader = OutboxReader(path: path)
        let limit = 48
        let few = QueueQuota(of: limit).hostLimit
        try #require(few == 3)
        for number in 1...few {
            #expect(try !reader.isCrowded(QueueName(platform: "ios", app: "default"), limit: limit))
            try outbox.insert([.sample(number), .sample(100 + number, platform: "android")], causes: []) { _ in }
        }
        try outbox.insert([.sample(few + 1)], causes: []) { _ in }
        #expect(try reader.isCrowded(QueueName(platform: "ios", app: "default"), limit: limit))
        #expect(try !reader.isCrowded(QueueName(platform: "ios", app: "default"), limit: 100 * limit))
        #expect(try !reader.isCrowded(QueueName(platform: "web", app: "default"), limit: limit))
    }
}
