import Core
import Delivery
import Dispatch
import Foundation
import Logging
import Push
import Synchronization

/// Measures the cost of a durable delivery, from acceptance to its final outcome, as ratios to bare SQLite in one run
/// on one disk: `swift run -c release DeliveryBench [folder]`.
@main
struct DeliveryBench {
    private let folder: URL
    private let count = 256 * 1200
    private let group = 256

    static func main() async throws {
        let parent = CommandLine.arguments.dropFirst().first.map { URL(filePath: $0) }
        let folder = (parent ?? FileManager.default.temporaryDirectory).appending(path: "bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await DeliveryBench(folder: folder).run()
    }

    private func run() async throws {
        let groups = stride(from: 0, to: count, by: group).map { first in
            (first..<first + group).map(delivery)
        }
        let size = groups[0][0].notification.blob.count
        print("\(count) deliveries in groups of \(group), notifications of \(size) bytes, every commit flushed")
        for round in 1...3 {
            let bare = try BareOutbox(path: folder.appending(path: "bare-\(round)").path).rate(of: groups)
            let outbox = try outboxRate(of: groups, path: "outbox-\(round)")
            let courier = try await courierRate(of: groups, path: "courier-\(round)")
            print(
                "bare SQLite \(rounded(bare))/s, outbox \(rounded(outbox))/s (\(ratio(outbox, bare))), "
                    + "courier \(rounded(courier))/s (\(ratio(courier, bare)))"
            )
        }
    }

    /// Insertions, and removals one group later, one after the other.
    private func outboxRate(of groups: [[Delivery]], path: String) throws -> Double {
        let outbox = try Outbox(path: folder.appending(path: path).path)
        return try Stopwatch.rate(of: count) {
            for group in groups {
                var changes = OutboxChanges()
                try outbox.insert(group) { changes.removals = $0.map(\.key) }
                try outbox.apply(changes)
            }
        }
    }

    /// Measures the whole path, with a transport that answers immediately.
    private func courierRate(of groups: [[Delivery]], path: String) async throws -> Double {
        let outbox = try Outbox(path: folder.appending(path: path).path)
        let everything = CountingObserver(expected: count)
        let environment = CourierEnvironment(
            store: outbox,
            directory: OneDirectory(),
            observer: everything,
            now: Timestamp.now,
            alarm: DispatchAlarm(now: Timestamp.now),
            transport: { _ in InstantTransport() }
        )
        let courier = try Courier(environment, log: Logger(label: "bench"))
        courier.start()
        let processor = Stopwatch.processor
        let start = ContinuousClock.now
        for group in groups { try courier.accept(group) }
        let accepted = ContinuousClock.now - start
        everything.wait()
        await courier.shutdown(deadline: Timestamp.now() + .minutes(1))
        let rate = Double(count) / Stopwatch.seconds(ContinuousClock.now - start)
        let spent = String(format: "%.2f", (Stopwatch.processor - processor) / Double(count))
        print(
            "  accepted at \(rounded(Double(count) / Stopwatch.seconds(accepted)))/s; \(spent) us of processor each; "
                + "left on disk: \(outbox.count)"
        )
        return rate
    }

    private func delivery(_ number: Int) -> Delivery {
        Delivery(
            id: withUnsafeBytes(of: UUID().uuid) { DeliveryID(version: 4, of: $0) },
            device: DeviceID(rawValue: Int64(number % 100_000)),
            platform: "ios",
            app: "default",
            notification: Notification(
                mode: .alert,
                signal: .reply,
                title: "Somebody replied to your note",
                body: "This is about as long as a text is that people write under notes of others, more or less.",
                category: "kind_1",
                thread: String(repeating: "a", count: 64),
                data: #"{"relay":"wss://relay.example.com"}"#
            ),
            acceptedAt: Timestamp.now()
        )
    }

    private func rounded(_ rate: Double) -> String { "\(Int(rate / 1000))k" }

    private func ratio(_ rate: Double, _ base: Double) -> String { String(format: "%.2f", rate / base) }
}

/// Counts ended deliveries.
final class CountingObserver: DeliveryObserver {
    private let ended = Atomic<Int>(0)
    private let all = DispatchSemaphore(value: 0)
    private let expected: Int

    init(expected: Int) {
        self.expected = expected
    }

    func wait() { all.wait() }

    func deliveriesReported(_ reports: [DeliveryReport]) {
        let count = ended.add(reports.count, ordering: .relaxed).newValue
        if count == expected { all.signal() }
    }

    func queuePaused(_ pause: QueuePause) {}

    func queueResumed(_ queue: QueueName) {}

    func outboxFailed(_ error: any Error) { print("outbox failed: \(error)") }
}

/// Delivers everything on the spot.
struct InstantTransport: Transport {
    func deliver(_ attempts: [DeliveryAttempt]) {
        for attempt in attempts { attempt.completion(Outcome(.delivered, status: 200, reason: "ok")) }
    }
}

/// Every device has the same address.
struct OneDirectory: DeviceDirectory {
    private let address = DeviceAddress(
        platform: "ios",
        app: "default",
        token: String(repeating: "ab", count: 32),
        registeredAt: Timestamp(milliseconds: 1)
    )

    func address(of device: DeviceID) -> DeviceAddress? { address }

    func removeGone(_ device: DeviceID, registeredAt: Timestamp) {}
}
