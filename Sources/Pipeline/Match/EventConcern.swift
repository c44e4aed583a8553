import Nostr
import Notifications

/// What an event is to one account it names: the signal, how it refers to the account, which event it is about, and
/// whose doing it is.
package struct EventConcern: Sendable, Hashable {
    /// Nil for kinds that only a rules file gives a signal.
    package var signal: Signal?
    package var relation: Relation?
    /// The event whose author would settle whether it concerns the account, and how; nil when that is settled.
    package var openQuestion: EventID?
    package var referencedID: EventID?
    /// Who a notification names: the sender of a zap, else the event's author.
    package var author: PublicKey
    package var zap: ZapReceipt?
}
