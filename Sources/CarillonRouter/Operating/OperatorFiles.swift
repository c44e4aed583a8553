import Delivery
import EventTrace
import Nostr

/// What is read beside the registry to answer operators.
struct OperatorFiles: Sendable {
    let trace: TraceReader
    /// Nil: nothing is traced.
    let traceLimits: TraceLimits?
    let outbox: OutboxReader

    init(configuration: Configuration) {
        trace = TraceReader(path: configuration.tracePath)
        traceLimits = configuration.trace
        outbox = OutboxReader(path: configuration.outboxPath)
    }

    /// Whether an event is among those that were accepted lately; false where that cannot be told.
    func wasAccepted(_ event: EventID) -> Bool {
        (try? outbox.isCause(event.array)) ?? false
    }
}
