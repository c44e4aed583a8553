import GRDB
import Logging
import Push
import Synchronization
import Testing

@testable import Delivery

/// The shares of a courier's outbox: 64 in all, 16 per queue, four per host.
@Suite struct CourierRoomTests {
    private static let ios = QueueName(platform: "ios", app: "default")

    private let time = ManualTime()
    private let observer = RecordingObserver()
    private let outbox: Outbox
    private let delivered = Outcome(.delivered, status: 200, reason: "ok")

    init() throws {
        outbox = try Outbox(DatabaseQueue(), limit: 64)
    }

    /// `host` returns the host of a device.
    private func courier(
        _ transport: FakeTransport = FakeTransport(),
        host: @escaping @Sendable (String) -> String? = { _ in nil }
    ) throws -> Courier {
        try Courier(
            CourierEnvironment(
                store: outbox,
                directory: FakeDirectory(),
                observer: observer,
                now: { [time] in time.now },
                alarm: time,
                random: LargestGenerator(),
                host: { host($0.token) },
                transport: { _ in transport }
            ),
            log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    private func takes(_ courier: Courier, _ device: Int64, platform: String = "ios") -> Bool {
        defer { courier.capacity.settle() }
        return courier.capacity.take(
            for: DeviceID(rawValue: device),
            of: QueueName(platform: platform, app: "default")
        )
    }

    @Test func capacityIsCountedPerPushService() throws {
        let courier = try courier()
        try courier.accept((0..<16).map { .sample($0, device: Int64($0)) })
        #expect(!takes(courier, 100))
        #expect(takes(courier, 100, platform: "android"))
        #expect(!courier.isFull)
    }

    @Test func queuedDeliveriesCountAfterARestart() throws {
        try courier().accept((0..<16).map { .sample($0, device: Int64($0)) })
        let courier = try courier()
        #expect(!takes(courier, 100))
        #expect(courier.capacity.usage(of: Self.ios).waiting == 16)
        #expect(courier.capacity.capacityForCallers(of: Self.ios) == 0)
    }

    @Test func completedDeliveryFreesCapacity() async throws {
        let transport = FakeTransport()
        let courier = try courier(transport)
        courier.start()
        try courier.accept((0..<16).map { .sample($0, device: Int64($0)) })
        let attempts = await transport.attempts(16)
        attempts[0].complete(Outcome(.retry, status: 503, reason: "down"))
        attempts[1].complete(delivered)
        attempts[2].complete(Outcome(.rejected, status: 400, reason: "bad"))
        await observer.record { $0.reports.count == 3 }
        await courier.settle()
        #expect(courier.capacity.usage(of: Self.ios).waiting == 14)
        #expect(courier.status.map(\.waiting) == [14])
        #expect(takes(courier, 100))
    }

    @Test func hostsAreLookedUpOnceTheQueueIsLong() throws {
        let lookups = Mutex(0)
        let courier = try courier { token in
            lookups.withLock { $0 += 1 }
            return token.hasSuffix("0") ? "well" : "hole"
        }
        for device in 1...9 as ClosedRange<Int64> {
            if courier.capacity.take(for: DeviceID(rawValue: device), of: Self.ios) {
                try courier.accept([.sample(Int(device), device: device)])
            }
            courier.capacity.settle()
            if device == 4 { #expect(lookups.withLock { $0 } == 0) }
        }
        // The first four have not been looked up yet.
        #expect(courier.capacity.usage(of: Self.ios).waiting == 8)
        #expect(takes(courier, 10))
    }

    @Test func aHostIsKnownFromTheFirstAttemptOn() async throws {
        let transport = FakeTransport()
        let courier = try courier(transport) { $0.hasSuffix("0") ? "well" : "hole" }
        courier.start()
        try courier.accept((1...4).map { .sample($0, device: Int64($0)) })
        _ = await transport.attempts(4)
        #expect(!takes(courier, 5))
        #expect(takes(courier, 10))
    }
}
