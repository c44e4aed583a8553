import NIOConcurrencyHelpers
import NIOCore

/// Holds the record under its lock and keeps the promises of those who wait.
final class Recorder: Sendable {
    private typealias Promise = EventLoopPromise<[ReceivedRequest]>

    /// Who waits, and for what.
    struct Wait: Sendable {
        fileprivate let id: Int
        let requests: EventLoopFuture<[ReceivedRequest]>
    }

    private let record: NIOLockedValueBox<Record<EventLoopPromise<[ReceivedRequest]>>>

    init(maximumCount: Int, maximumBytes: Int) {
        record = NIOLockedValueBox(Record(maximumCount: maximumCount, maximumBytes: maximumBytes))
    }

    var requests: [ReceivedRequest] { record.withLockedValue { Array($0.requests) } }

    func add(_ request: ReceivedRequest) {
        notify(record.withLockedValue { $0.add(request) })
    }

    func removeAll() {
        record.withLockedValue { $0.removeAll() }
    }

    func close() {
        for promise in record.withLockedValue({ $0.close() }) {
            promise.fail(LabError.closed)
        }
    }

    /// Waits for one request that no other caller gets.
    func awaitUnread(timeout: TimeAmount?, on loop: any EventLoop) -> Wait {
        begin(timeout: timeout, on: loop, otherwise: "No request came in time.") { $0.awaitUnread($1) }
    }

    /// Waits until so many of the requests kept match.
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

    /// The requests waited for. Throws `LabError`, or `CancellationError` where the task is cancelled first.
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
        let (id, satisfied, isClosed) = record.withLockedValue { record in
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
        record.withLockedValue { $0.giveUp(id) }?.fail(error)
    }

    private func notify(_ satisfied: [Record<Promise>.Satisfied]) {
        for waiter in satisfied {
            waiter.promise.succeed(waiter.requests)
        }
    }
}
