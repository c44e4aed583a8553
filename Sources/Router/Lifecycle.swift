import Core
import Dispatch
import Logging
import ServiceLifecycle
import Synchronization

/// Runs the router's parts as services of one service group.
struct RouterLifecycle: Sendable {
    /// In the order of their start.
    private let parts: [any RouterPart]
    private let stop: StopSignal
    private let budget: @Sendable () -> StopBudget

    /// `stop` stops the router; `budget` is called when stopping starts.
    init(_ parts: [any RouterPart], stop: StopSignal, budget: @escaping @Sendable () -> StopBudget) {
        self.parts = parts
        self.stop = stop
        self.budget = budget
    }

    /// Returns when everything has stopped: after graceful shutdown, after the task's cancellation, or after `stop`.
    ///
    /// Throws the error of a part that failed to start; the other parts are stopped then.
    func run() async throws {
        let order = StartOrder()
        let time = SharedBudget(budget)
        let services = parts.enumerated().map { index, part in
            PartService(part: part, index: index, count: parts.count, order: order, stop: stop, time: time)
        }
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: services.map { ServiceGroupConfiguration.ServiceConfiguration(service: $0) } + [
                    // Last in the list, so it is the first to learn of a shutdown that others request.
                    ServiceGroupConfiguration.ServiceConfiguration(
                        service: stop,
                        successTerminationBehavior: .gracefullyShutdownGroup
                    )
                ],
                logger: Logger(label: "carillon.lifecycle") { _ in SwiftLogNoOpLogHandler() }
            )
        )
        // A cancelled group would stop all parts together. In a separate task, a cancellation stops them in order.
        let running = Task.detached { try await group.run() }
        try await withTaskCancellationOrGracefulShutdownHandler {
            try await running.value
        } onCancelOrGracefulShutdown: {
            stop.send()
        }
        if let failure = order.failure ?? stop.failure { throw failure }
    }
}

/// A service that ends, and thereby stops the whole group, when the router must stop.
final class StopSignal: Service {
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation
    private let reason = Mutex<(any Error)?>(nil)

    init() {
        (stream, continuation) = AsyncStream.makeStream()
    }

    /// The first failure that stopped the router; nil: it stopped without a failure.
    var failure: (any Error)? { reason.withLock(\.self) }

    /// Stops the router. Call it from any thread, any number of times.
    func send() {
        continuation.finish()
    }

    /// Stops the router because of a failure, after which it must be restarted.
    @Sendable func fail(_ error: any Error) {
        reason.withLock { $0 = $0 ?? error }
        send()
    }

    func run() async {
        await cancelWhenGracefulShutdown {
            for await _ in self.stream {}
        }
    }
}

/// The time for stopping, which starts when the first part stops.
private final class SharedBudget: Sendable {
    private let make: @Sendable () -> StopBudget
    private let budget = Mutex<StopBudget?>(nil)

    init(_ make: @escaping @Sendable () -> StopBudget) {
        self.make = make
    }

    var value: StopBudget {
        budget.withLock { budget in
            if let budget { return budget }
            let new = make()
            budget = new
            return new
        }
    }
}

/// Runs one part as a service.
private struct PartService: Service {
    let part: any RouterPart
    let index: Int
    let count: Int
    let order: StartOrder
    let stop: StopSignal
    let time: SharedBudget

    func run() async {
        let isPrepared = await order.take(index, part.prepare)
        let isStarted = await order.take(count + index, part.start)
        if !isPrepared || !isStarted { stop.send() }
        // Throws when it is cancelled, which must stop the router as well.
        try? await gracefulShutdown()
        await part.stop(time.value)
    }
}

/// A part of the router with its own start and stop.
package protocol RouterPart: Sendable {
    /// Acquires resources that the system may refuse, such as ports. Processes nothing yet.
    func prepare() async throws
    /// Starts to work.
    func start() async throws
    /// Ends within its share of the time. Called once, even for a part that never started.
    func stop(_ time: StopBudget) async
}

extension RouterPart {
    package func prepare() async throws {}

    package func start() async throws {}
}

/// The time for stopping, and the share of each step in it, so that all of them end in time.
package struct StopBudget: Sendable {
    private let total: Duration
    private let end: Timestamp
    private let now: @Sendable () -> Timestamp

    /// Starts the time limit now.
    init(_ total: Duration, now: @escaping @Sendable () -> Timestamp) {
        (self.total, self.now) = (total, now)
        end = now() + total
    }

    /// The time left: from zero to the total, even if the clock jumps back.
    var left: Duration { min(total, max(.zero, end - now())) }

    /// The time for a step that may use up to `percent` of the whole time.
    package func part(_ percent: Int) -> Duration { min(left, total * percent / 100) }

    /// The end of a step that takes at most `percent` of the whole time and leaves `others` percent to later steps.
    func deadline(_ percent: Int, leaving others: Int) -> Timestamp {
        now() + min(part(percent), max(.zero, left - total * others / 100))
    }
}

/// Runs the start steps in order, although a separate task awaits each of them. After a failure no further step runs.
final class StartOrder: Sendable {
    private struct State {
        var next = 0
        var failure: (any Error)?
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    }

    private let state = Mutex(State())

    /// Why the start failed.
    var failure: (any Error)? { state.withLock { $0.failure } }

    /// Runs step number `step`, counted from 0, once all previous steps are done; does nothing after a failure.
    ///
    /// Returns false if this step failed.
    func take(_ step: Int, _ body: () async throws -> Void) async -> Bool {
        await withCheckedContinuation { continuation in
            let isDue = state.withLock { state in
                guard state.next < step else { return true }
                state.waiters[step] = continuation
                return false
            }
            if isDue { continuation.resume() }
        }
        defer { finish(step) }
        guard failure == nil else { return true }
        do {
            try await body()
            return true
        } catch {
            state.withLock { $0.failure = error }
            return false
        }
    }

    private func finish(_ step: Int) {
        let waiter = state.withLock { state in
            state.next = step + 1
            return state.waiters.removeValue(forKey: step + 1)
        }
        waiter?.resume()
    }
}

/// Runs `body` on a thread that may wait for the disk; the threads that tasks share must not block.
package func onDisk<Value: Sendable, Failure: Error>(
    _ priority: DispatchQoS.QoSClass = .utility,
    _ body: @escaping @Sendable () throws(Failure) -> Value
) async throws(Failure) -> Value {
    let result = await withCheckedContinuation { continuation in
        DispatchQueue.global(qos: priority).async { continuation.resume(returning: Result(catching: body)) }
    }
    return try result.get()
}
