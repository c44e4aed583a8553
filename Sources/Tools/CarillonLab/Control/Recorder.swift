import NIOCore
import Synchronization

/// Protects the record with a lock and completes the promises of its waiters.
final class Recorder: Sendable {
    private typealias Promise = EventLoopPromise<[ReceivedRequest]>

    struct Wait: Sendable {
        fileprivate let id: Int
        let requests: EventLoopFuture<[ReceivedRequest]>
    }

    private let record: Mutex<Record<EventLoopPromise<[ReceivedRequest]>>>

    init(maximumCount: Int, maximumBytes: Int) {
        record = Mutex(Record(maximumCount: maximumCount, maximumBytes: maximumBytes))
    }

    var requests: [ReceivedRequest] { record.withLock { Array($0.requests) } }

    func add(_ request: ReceivedRequest) {
        notify(record.withLock { $0.add(request) })
    }

    func removeAll() {
        record.withLock { $0.removeAll() }
    }

    func close() {
        for promise in record.withLock({ $0.close() }) {
            promise.fail(LabError.closed)
        }
    }

    /// Waits for the next request. No other caller gets the same one.
    func awaitUnread(timeout: TimeAmount?, on loop: any EventLoop) -> Wait {
        begin(timeout: timeout, on: loop, otherwise: "No request came in time.") { $0.awaitUnread($1) }
    }

    /// Waits until `count` requests in the record match.
    func awaitCount(
        _ count: Int,
        timeout: TimeAmount?,
        on loop: any EventLoop,
        matching: @escaping @Sendable (ReceivedRequest) -> Bool
    ) -> Wait {
        begin(timeout: timeout, on: loop, otherwise: "Not \(count) such requests came in time.") {
            $0.awaitCount(count, matching: matching, $1)
        }
    }

    /// Throws `LabError`, or `CancellationError` if the task is cancelled first.
    func requests(of wait: Wait) async throws -> [ReceivedRequest] {
        try await withTaskCancellationHandler {
            try await wait.requests.get()
        } onCancel: {
            self.giveUp(wait.id, CancellationError())
        }
    }

    private func begin(
        timeout: TimeAmount?,
        on loop: any EventLoop,
        otherwise complaint: String,
        _ start: (inout Record<Promise>, Promise) -> (id: Int, satisfied: [Record<Promise>.Satisfied])
    ) -> Wait {
        let promise = loop.makePromise(of: [ReceivedRequest].self)
        let (id, satisfied, isClosed) = record.withLock { record in
            let (id, satisfied) = start(&record, promise)
            return (id, satisfied, record.isClosed)
        }
        notify(satisfied)
        if isClosed {
            giveUp(id, LabError.closed)
        } else if let timeout {
            let alarm = loop.scheduleTask(in: timeout) { self.giveUp(id, LabError.timedOut(complaint)) }
            promise.futureResult.whenComplete { _ in alarm.cancel() }
        }
        return Wait(id: id, requests: promise.futureResult)
    }

    private func giveUp(_ id: Int, _ error: any Error) {
        record.withLock { $0.giveUp(id) }?.fail(error)
    }

    private func notify(_ satisfied: [Record<Promise>.Satisfied]) {
        for waiter in satisfied {
            waiter.promise.succeed(waiter.requests)
        }
    }
}

/// The requests in order, within memory limits, and the waiters for more.
///
/// Pure: every change returns the waiters that it satisfies, for the caller to notify.
struct Record<Promise: Sendable>: Sendable {
    private enum Demand: Sendable {
        /// The oldest request that no `next` has returned yet.
        case unread
        /// A number of matching requests.
        case count(Int, @Sendable (ReceivedRequest) -> Bool)
    }

    private struct Waiter: Sendable {
        var id: Int
        var demand: Demand
        var promise: Promise
    }

    /// A waiter and its requests.
    struct Satisfied: Sendable {
        var promise: Promise
        var requests: [ReceivedRequest]
    }

    private let maximumCount: Int
    private let maximumBytes: Int
    private(set) var requests = CircularBuffer<ReceivedRequest>()
    private var bytes = 0
    private var lastSequence = 0
    private var lastRead = 0
    private var waiters: [Waiter] = []
    private var lastWaiter = 0
    private(set) var isClosed = false

    init(maximumCount: Int, maximumBytes: Int) {
        self.maximumCount = max(1, maximumCount)
        self.maximumBytes = max(1, maximumBytes)
    }

    mutating func add(_ request: ReceivedRequest) -> [Satisfied] {
        var request = request
        lastSequence += 1
        request.sequence = lastSequence
        bytes += request.footprint
        requests.append(request)
        while requests.count > maximumCount || (bytes > maximumBytes && requests.count > 1) {
            bytes -= requests.removeFirst().footprint
        }
        return waiters.isEmpty ? [] : satisfy()
    }

    mutating func awaitUnread(_ promise: Promise) -> (id: Int, satisfied: [Satisfied]) {
        wait(.unread, promise)
    }

    mutating func awaitCount(
        _ count: Int,
        matching: @escaping @Sendable (ReceivedRequest) -> Bool,
        _ promise: Promise
    ) -> (id: Int, satisfied: [Satisfied]) {
        wait(.count(count, matching), promise)
    }

    /// Removes a waiter and returns its promise; nil if it was already satisfied.
    mutating func giveUp(_ id: Int) -> Promise? {
        guard let index = waiters.firstIndex(where: { $0.id == id }) else { return nil }
        return waiters.remove(at: index).promise
    }

    /// Removes every request. The numbering continues.
    mutating func removeAll() {
        requests.removeAll()
        bytes = 0
        lastRead = lastSequence
    }

    /// Returns the promises of all waiters.
    mutating func close() -> [Promise] {
        isClosed = true
        defer { waiters.removeAll() }
        return waiters.map(\.promise)
    }

    private mutating func wait(_ demand: Demand, _ promise: Promise) -> (id: Int, satisfied: [Satisfied]) {
        lastWaiter += 1
        waiters.append(Waiter(id: lastWaiter, demand: demand, promise: promise))
        return (lastWaiter, satisfy())
    }

    private mutating func satisfy() -> [Satisfied] {
        var satisfied: [Satisfied] = []
        var waiting: [Waiter] = []
        for waiter in waiters {
            if let found = fulfil(waiter.demand) {
                satisfied.append(Satisfied(promise: waiter.promise, requests: found))
            } else {
                waiting.append(waiter)
            }
        }
        waiters = waiting
        return satisfied
    }

    private mutating func fulfil(_ demand: Demand) -> [ReceivedRequest]? {
        switch demand {
        case .unread:
            guard let first = requests.first, let last = requests.last, last.sequence > lastRead else { return nil }
            // Sequence numbers in the record have no gaps.
            let offset = max(0, lastRead + 1 - first.sequence)
            let request = requests[requests.index(requests.startIndex, offsetBy: offset)]
            lastRead = request.sequence
            return [request]
        case .count(let count, let matching):
            let found = Array(requests.lazy.filter(matching))
            return found.count >= count ? found : nil
        }
    }
}
