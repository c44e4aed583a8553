import Logging
import Nostr
import Registry

/// Whom accounts follow, by their own contact lists (NIP-02). Only where rules ask for that.
extension Pipeline {
    /// Whether a contact list is an account's newest. When that cannot be told, it may be.
    func wantsContactList(of author: PublicKey, _ mark: SlotMark) -> Bool {
        guard addressees.asksForFollows, index.account(of: author) != nil else { return false }
        return (try? registry.wantsContactList(of: author, mark)) ?? true
    }

    /// Takes an account's own contact list that names nobody here. It is not done with: somebody it names may register yet.
    func hold(contactList event: Event, into batch: inout Batch) {
        begin(event, into: &batch)
        batch.held.add(contactList: event)
        parking.found(contactListOf: event.pubkey)
    }

    /// Takes whom an account follows from a contact list of its own; what the list is to those it names, or whether it is news, is
    /// another matter.
    func hold(notice event: Event, into batch: inout Batch) {
        batch.held.add(notice: event)
        parking.found(contactListOf: event.pubkey)
    }

    /// Whom somebody follows counts for the very next event, which may be a contact list too.
    func settleContactLists(_ batch: inout Batch) {
        if !batch.held.hasNoContactLists { settleHeld(&batch) }
    }

    func learnFollowed(_ held: HeldEvents, into batch: inout Batch) {
        guard !held.hasNoContactLists else { return }
        do {
            try registry.learnFollowed(from: held.contactLists + held.notices)
            for event in held.contactLists { batch.end(event.id, .learned, .accepted) }
            for event in held.notices { batch.log.note(.learned, event: event.id) }
        } catch {
            logger.error("Whom accounts follow could not be kept", metadata: ["error": "\(error)"])
            for event in held.contactLists { batch.end(event.id, .notKept, Batch.notKept) }
            batch.retract(held.notices.map(\.id))
        }
    }
}
