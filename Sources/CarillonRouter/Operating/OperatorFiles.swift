import Delivery
import EventTrace
import Nostr
import Pipeline

/// What is read beside the registry to answer operators.
struct OperatorFiles: Sendable {
    let trace: TraceReader
    /// Nil: nothing is traced.
    let traceLimits: TraceLimits?
    let outbox: OutboxReader
    /// When the router started, or of the file.
    let pacing: PacingPolicy

    init(configuration: Configuration) {
        trace = TraceReader(path: configuration.tracePath)
        traceLimits = configuration.trace
        outbox = OutboxReader(path: configuration.outboxPath)
        pacing = configuration.pacing
    }

    /// Whether an event is among those that were accepted lately; false where that cannot be told.
    func wasAccepted(_ event: EventID) -> Bool {
        (try? outbox.isCause(event.array)) ?? false
    }
}
