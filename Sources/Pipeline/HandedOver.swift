import Nostr
import Registry

/// The owners of the accounts' partitions, if several routers work as one.
package protocol PartitionOwners: Sendable {
    /// Passes a verified event to the owners of the partitions of `accounts`, or of all partitions if nil. Calls
    /// `completion` once, on any thread. `isKept` is whether all effects of the event are on disk. Called on the
    /// pipeline's thread; must not block.
    func handOver(
        _ event: Event,
        from source: EventSource,
        concerning accounts: [PublicKey]?,
        completion: @escaping @Sendable (_ isKept: Bool) -> Void
    )
}

/// Passes events to the owners of their accounts' partitions, and tracks those that are not answered yet.
struct HandedOverEvents {
    private let owners: (any PartitionOwners)?
    private let intake: Intake
    private var events: [EventID: WaitingEvent] = [:]

    /// If `owners` is nil, this pipeline owns all accounts. `intake` receives the answers.
    init(to owners: (any PartitionOwners)?, intake: Intake) {
        self.owners = owners
        self.intake = intake
    }

    /// Whether other owners have accounts.
    var isInUse: Bool { owners != nil }
    var count: Int { events.count }

    /// Asks the owners to process an event. Returns nil if this pipeline owns all accounts.
    mutating func handOver(
        _ addressed: AddressedEvent,
        at place: AnswerPlace,
        in index: borrowing MatchIndex
    ) -> EventOutcome? {
        guard isInUse else { return nil }
        let accounts = index.keys(of: addressed.accounts)
        handOver(WaitingEvent(event: addressed.event, source: addressed.source, places: [place]), of: accounts)
        return EventOutcome(event: addressed.event.id, end: .waits)
    }

    /// Asks all owners to withdraw the events that a deletion takes back. Returns false if this pipeline owns all
    /// accounts.
    mutating func handOver(deletion event: Event, from source: EventSource, at place: AnswerPlace) -> Bool {
        if isInUse { handOver(WaitingEvent(event: event, source: source, places: [place]), of: nil) }
        return isInUse
    }

    private mutating func handOver(_ waiting: WaitingEvent, of accounts: [PublicKey]?) {
        let id = waiting.event.id
        events[id] = waiting
        owners?.handOver(waiting.event, from: waiting.source, concerning: accounts) { [intake] isKept in
            intake.handOverEnded(id, isKept: isKept)
        }
    }

    /// Adds another copy of a passed event; it gets the same result. Returns false if no such event was passed.
    mutating func join(_ id: EventID, at place: AnswerPlace) -> Bool { events[id]?.places.append(place) != nil }

    /// Removes an event that the owners kept or refused.
    mutating func end(_ id: EventID, isKept: Bool, _ batch: inout OpenBatch) {
        guard let waiting = events.removeValue(forKey: id) else { return }
        batch.decisions.resume(waiting)
        batch.note(isKept ? EventOutcome(event: id, end: .finished(.accepted)) : .notKept(id))
    }

    /// Removes all events, and marks them as not kept.
    mutating func endAll(_ batch: inout OpenBatch) {
        for id in Array(events.keys) { end(id, isKept: false, &batch) }
    }
}

extension MatchIndex {
    /// The keys of those accounts that are registered.
    func keys(of accounts: [AccountNumber]) -> [PublicKey] {
        var keys: [PublicKey] = []
        for account in accounts {
            if let key = key(of: account) { keys.append(key) }
        }
        return keys
    }
}
