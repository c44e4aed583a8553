import Delivery
import EventTrace
import Nostr
import RouterConfiguration

/// What is read beside the registry to answer operators.
package struct OperatorFiles: Sendable {
    /// Nil: nothing is traced, and what there may be from before is out of date.
    let trace: (reader: TraceReader, limits: TraceLimits)?
    let outbox: OutboxReader
    /// How much the outbox is for.
    let mostWaiting: Int

    package init(configuration: Configuration) {
        trace = configuration.trace.map { (TraceReader(path: configuration.tracePath), $0) }
        outbox = OutboxReader(path: configuration.outboxPath)
        mostWaiting = configuration.mostWaiting
    }

    /// Whether an event is among those that were accepted lately; false where that cannot be told.
    func wasAccepted(_ event: EventID) -> Bool {
        (try? outbox.isCause(event.array)) ?? false
    }
}
