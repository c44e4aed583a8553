import Logging
import ServiceLifecycle
import Synchronization

/// Runs the router's parts as services of one group.
struct RouterLifecycle: Sendable {
    /// In the order of their start.
    private let parts: [any RouterPart]
    private let stop: StopSignal
    private let budget: @Sendable () -> StopBudget

    /// `stop` stops the router; `budget` is asked when stopping begins.
    init(_ parts: [any RouterPart], stop: StopSignal, budget: @escaping @Sendable () -> StopBudget) {
        self.parts = parts
        self.stop = stop
        self.budget = budget
    }

    /// Returns when everything has stopped: after graceful shutdown, after the task's cancellation, or after `stop`.
    ///
    /// Throws what a part threw at the start; then the others are stopped as well.
    func run() async throws {
        let order = StartOrder()
        let time = SharedBudget(budget)
        let services = parts.enumerated().map { index, part in
            PartService(part: part, index: index, count: parts.count, order: order, stop: stop, time: time)
        }
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: services.map { ServiceGroupConfiguration.ServiceConfiguration(service: $0) } + [
                    // Last, so that it hears first of a stop that others ask for.
                    ServiceGroupConfiguration.ServiceConfiguration(
                        service: stop,
                        successTerminationBehavior: .gracefullyShutdownGroup
                    )
                ],
                logger: Logger(label: "carillon.lifecycle") { _ in SwiftLogNoOpLogHandler() }
            )
        )
        // A cancelled group would stop all parts at once. Its own task lets a cancellation stop them in order.
        let running = Task.detached { try await group.run() }
        try await withTaskCancellationOrGracefulShutdownHandler {
            try await running.value
        } onCancelOrGracefulShutdown: {
            stop.send()
        }
        if let failure = order.failure ?? stop.failure { throw failure }
    }
}

/// A service that ends, and its group with it, when somebody wants the router to stop.
struct StopSignal: Service {
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation
    private let reason = FailureBox()

    init() {
        (stream, continuation) = AsyncStream.makeStream()
    }

    /// Why the router cannot go on, if that is why it stops.
    var failure: (any Error)? { reason.failure }

    /// Any thread, any number of times.
    func send() {
        continuation.finish()
    }

    /// The same for a failure: whoever started the router is to start it again.
    @Sendable func fail(_ error: any Error) {
        reason.note(error)
        send()
    }

    func run() async {
        await cancelWhenGracefulShutdown {
            for await _ in stream {}
        }
    }
}

/// The first of several failures.
private final class FailureBox: Sendable {
    private let box = Mutex<(any Error)?>(nil)

    var failure: (any Error)? { box.withLock { $0 } }

    func note(_ error: any Error) { box.withLock { $0 = $0 ?? error } }
}

/// The time for stopping, which begins when the first part stops.
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

/// One part as a service.
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
        // Throws when it is cancelled, which is to stop as well.
        try? await gracefulShutdown()
        await part.stop(time.value)
    }
}
