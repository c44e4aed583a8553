import Cipher
import Console
import Core
import Delivery
import Dispatch
import Foundation
import Nostr
import Synchronization
import Testing
import TimeTestSupport

@testable import Operations
@testable import Pipeline

/// Requests for notifications on their way to the disk and to the pipeline.
struct RequestQueueTests {
    /// Rings when a test calls for it.
    private final class Bell: Alarm {
        private let actions = Mutex<[(time: Timestamp, action: @Sendable () -> Void)]>([])

        func ring(at time: Timestamp, _ action: @escaping @Sendable () -> Void) {
            actions.withLock { $0.append((time, action)) }
        }

        var times: [Timestamp] { actions.withLock { $0.map(\.time) } }

        func ring() {
            let due = actions.withLock { actions in
                defer { actions = [] }
                return actions
            }
            for each in due { each.action() }
        }
    }

    private final class Bench: Sendable {
        private let folder = FileManager.default.temporaryDirectory.appending(path: "requests-\(UUID().uuidString)")
        let intake = Intake()
        let bell = Bell()
        let queue: RequestQueue
        let outbox: Outbox
        let keys: KeyPair

        init(timeout: Duration? = nil) throws {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
            keys = try KeyPair(random: SecureRandom.bytes)
            outbox = try Outbox(path: folder.appending(path: "outbox.sqlite").path)
            queue = RequestQueue(outbox, intake, timeout: timeout, alarm: bell, now: { 1_000 })
        }

        deinit { try? FileManager.default.removeItem(at: folder) }

        func request(
            _ number: UInt8,
            key: UInt8? = nil,
            body: UInt8 = 1,
            first: @escaping @Sendable () -> Void = {}
        ) -> RequestQueue.Request {
            func bytes(_ byte: UInt8, _ count: Int = 32) -> [UInt8] { Array(repeating: byte, count: count) }
            let record = RequestRecord(
                id: bytes(number, 16),
                sender: bytes(1),
                key: key.map { bytes($0) },
                body: bytes(body),
                createdAt: 1_000
            )
            return RequestQueue.Request(
                record: record,
                body: bytes(body),
                order: NotificationOrder(.template("a"))
            ) { [keys] record in
                first()
                return [
                    try Event.signed(
                        kind: .requestedNotification,
                        createdAt: 1,
                        tags: [["request", Hex.encode(record.id)]],
                        by: keys
                    )
                ]
            }
        }

        /// Waits for a request that reaches the pipeline, and accepts it.
        func accept() async throws -> Int {
            let arrivals = try await onThread { [intake] in intake.next() }
            for submission in arrivals?.submissions ?? [] {
                submission.completion(submission.events.map { _ in EventDecision(id: nil, .accepted) })
            }
            return arrivals?.submissions.count ?? 0
        }
    }

    @Test func singleRequestIsProcessedImmediately() async throws {
        let bench = try Bench()
        for number in 1...3 as ClosedRange<UInt8> {
            async let record = bench.queue.take(bench.request(number))
            #expect(try await bench.accept() == 1)
            let events = try await record.events
            #expect(events.count == 1)
            // A record is found before it is written.
            let noted = try await onThread { try bench.queue.find(Array(repeating: number, count: 16)) }
            #expect(noted?.events == events)
        }
        #expect(bench.bell.times.isEmpty)
    }

    @Test func manyRequestsAreProcessedTogether() async throws {
        let bench = try Bench()
        let (gate, isEntered) = (DispatchSemaphore(value: 0), Flag())
        let busy = bench.request(1) {
            isEntered.set()
            gate.wait()
        }
        async let first = bench.queue.take(busy)
        while !isEntered.isSet { await Task.yield() }
        async let second = bench.queue.take(bench.request(2))
        async let third = bench.queue.take(bench.request(3))
        while bench.queue.waiting < 2 { await Task.yield() }
        gate.signal()
        var accepted = 0
        while accepted < 3 { accepted += try await bench.accept() }
        _ = try await (first, second, third)
        // Each pauses for a millisecond.
        while bench.bell.times.isEmpty { await Task.yield() }
        #expect(bench.bell.times == [1_002])
        async let fourth = bench.queue.take(bench.request(4))
        while bench.queue.waiting < 1 { await Task.yield() }
        #expect(bench.intake.backlog.events == 0)
        bench.bell.ring()
        #expect(try await bench.accept() == 1)
        _ = try await fourth
    }

    @Test func manyEventsGoFirstWithinLimits() async throws {
        let bench = try Bench()
        let events = (0..<16).map { _ in [UInt8](repeating: 1, count: 1) }
        bench.intake.submit(Submission(events: events, source: .socket(authenticated: [])) { _ in })
        async let first = bench.queue.take(bench.request(1))
        for _ in 1...40 {
            while bench.bell.times.isEmpty { await Task.yield() }
            #expect(bench.bell.times == [1_005] && bench.intake.backlog.events == 16)
            bench.bell.ring()
        }
        while bench.intake.backlog.events == 16 { await Task.yield() }
        // The events, and then the requests.
        #expect(try await bench.accept() == 1)
        #expect(try await bench.accept() == 1)
        _ = try await first
    }

    @Test func activeOrDifferentRequestIsRefused() async throws {
        let bench = try Bench()
        async let first = bench.queue.take(bench.request(1, key: 9))
        while bench.intake.backlog.events == 0 { await Task.yield() }
        await #expect(throws: APIError.self) { try await bench.queue.take(bench.request(2, key: 9)) }
        await #expect(throws: APIError.self) { try await bench.queue.take(bench.request(3, key: 9, body: 2)) }
        #expect(try await bench.accept() == 1)
        let known = try await first
        // A repeated request is answered without the pipeline.
        #expect(try await bench.queue.take(bench.request(4, key: 9)) == known)
        #expect(bench.intake.backlog.events == 0)
    }

    @Test func unresponsiveOwnerTimesOutAndMayBeAskedAgain() async throws {
        let bench = try Bench(timeout: .seconds(10))
        let first = Task { try await bench.queue.take(bench.request(1, key: 9)) }
        while bench.intake.backlog.events == 0 { await Task.yield() }
        #expect(bench.bell.times == [11_000])
        bench.bell.ring()
        await #expect(throws: APIError.self) { try await first.value }
        async let second = bench.queue.take(bench.request(2, key: 9))
        while bench.intake.backlog.events < 2 { await Task.yield() }
        // The late response to the first is ignored, the second's counts.
        #expect(try await bench.accept() == 2)
        #expect(try await second.id == Array(repeating: 1, count: 16))
    }

    @Test func aPipelineThatRefusesIsNamedAndTheRequestMayComeAgain() async throws {
        let bench = try Bench()
        bench.intake.close()
        await #expect(throws: APIError(503, "shutting down, try again later", retryAfter: 1)) {
            try await bench.queue.take(bench.request(1, key: 9))
        }
        #expect(try bench.queue.find(Array(repeating: 1, count: 16))?.events.isEmpty == true)
    }
}

private final class Flag: Sendable {
    private let value = Mutex(false)

    var isSet: Bool { value.withLock(\.self) }

    func set() { value.withLock { $0 = true } }
}

/// Runs `body` outside the threads of tasks, which must not be blocked.
private func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(with: Result { try body() }) }
    }
}
