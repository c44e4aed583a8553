import Logging
import Nostr
import Registry
import Storage

/// Accounts' own lists: whom they follow (NIP-02), only where rules or filters ask for that, and what else filters read.
extension Pipeline {
    /// Whether a list is an account's newest of its kind. When that cannot be told, it may be.
    func wantsRecipientList(_ kind: Kind, of author: PublicKey, _ mark: SlotMark) -> Bool {
        guard index.account(of: author) != nil else { return false }
        do {
            if kind == .contactList, asksForFollows, try registry.wantsContactList(of: author, mark) { return true }
            return try keptKinds.contains(kind) && registry.wantsRecipientList(kind, of: author, mark)
        } catch {
            return true
        }
    }

    /// Takes an account's own list that names nobody here. It is not done with: somebody it names may register yet.
    func hold(recipientList event: Event, into batch: inout Batch) {
        begin(event, into: &batch)
        batch.held.add(recipientList: event)
    }

    /// Takes an account's own list; what it is to those it names, or whether it is news, is another matter.
    func hold(notice event: Event, into batch: inout Batch) {
        batch.held.add(notice: event)
    }

    /// What an account's list says counts for the very next event, which may be a list too.
    func settleRecipientLists(_ batch: inout Batch) {
        if !batch.held.hasNoRecipientLists { settleHeld(&batch) }
    }

    func learnRecipientLists(_ held: HeldEvents, into batch: inout Batch) {
        guard !held.hasNoRecipientLists else { return }
        let events = held.recipientLists + held.notices
        do {
            if asksForFollows { try registry.learnFollowed(from: events) }
            try registry.learnRecipientLists(from: events.filter { keptKinds.contains($0.kind) })
            for event in held.recipientLists { batch.end(event.id, .learned, .accepted, account: event.pubkey) }
            for event in held.notices { batch.log.note(.learned, event: event.id, account: event.pubkey) }
        } catch {
            registryTrouble.occurred(error, at: batch.time)
            for event in held.recipientLists { batch.end(event.id, .notKept, Batch.notKept, account: event.pubkey) }
            batch.retract(held.notices.map(\.id))
        }
        for event in events { noteFound(recipientList: event, at: batch.time) }
    }

    /// Lists of relays and devices are the registry's to take; of those that filters read as well, the newest is kept whole.
    func keepWhole(_ lists: [Event]) throws {
        let wanted = lists.filter { keptKinds.contains($0.kind) && index.account(of: $0.pubkey) != nil }
        guard !wanted.isEmpty else { return }
        try registry.learnRecipientLists(from: wanted)
        for event in wanted { parking.found(list: ListWant(account: event.pubkey, kind: event.kind)) }
    }

    private func noteFound(recipientList event: Event, at now: Int64) {
        parking.found(list: ListWant(account: event.pubkey, kind: event.kind))
        guard event.kind == .contactList else { return }
        parking.found(contactListOf: event.pubkey)
        resumeDistances(of: event.pubkey, at: now)
    }
}
