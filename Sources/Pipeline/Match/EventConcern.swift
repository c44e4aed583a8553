import Nostr
import Notifications

/// What an event is to one account it names: the signal, how it refers to the account, and which event it is about.
package struct EventConcern: Sendable, Hashable {
    /// Nil for kinds that only a rules file gives a signal.
    package var signal: Signal?
    package var relation: Relation?
    package var referencedID: EventID?
}
