import Nostr
import Notifications

/// One step of one event, or of all events that were held together, as far as it is worth keeping: what became of it for whom, and
/// why. Holds neither content nor tokens.
package struct TraceStep: Sendable, Hashable {
    package var step: PipelineStep
    /// Nil: of all events that were told to be held under `delivery`.
    package var event: EventID?
    /// For which account; nil: for all whom the event names, or before that was known.
    package var account: PublicKey?
    /// On which of its devices; nil: on all of which nothing else is said.
    package var device: DeviceID?
    /// The delivery that came of it, by its id.
    package var delivery: String?
    /// Why, in a few printable words; empty where the step says it all.
    package var reason: String

    package init(
        step: PipelineStep,
        event: EventID?,
        account: PublicKey? = nil,
        device: DeviceID? = nil,
        delivery: String? = nil,
        reason: String = ""
    ) {
        self.step = step
        self.event = event
        self.account = account
        self.device = device
        self.delivery = delivery
        self.reason = reason
    }
}
