import Nostr
import Registry

/// Who owns the partitions of accounts, where several routers work as one.
package protocol PartitionOwners: Sendable {
    /// Hands a verified event over to the owners of the partitions of `accounts`; nil: of all partitions. Calls
    /// `completion` once, on any thread: `isKept` says whether everything that the event leads to is kept. Called on
    /// the pipeline's thread; must not block.
    func handOver(
        _ event: Event,
        from source: EventSource,
        concerning accounts: [PublicKey]?,
        completion: @escaping @Sendable (_ isKept: Bool) -> Void
    )
}

/// Hands events over to the owners of their accounts' partitions, and knows those that are not answered yet.
struct HandedOverEvents {
    private let owners: (any PartitionOwners)?
    private let intake: Intake
    private var events: [EventID: WaitingEvent] = [:]

    /// Without `owners` all accounts are this pipeline's. `intake` receives the answers.
    init(to owners: (any PartitionOwners)?, intake: Intake) {
        self.owners = owners
        self.intake = intake
    }

    /// Whether accounts are other owners'.
    var isInUse: Bool { owners != nil }
    var count: Int { events.count }

    /// Asks the owners to keep an event; nil: all accounts are this pipeline's.
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

    /// Asks all owners to withdraw what a deletion takes back; false: all accounts are this pipeline's.
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

    /// Lets a further copy of such an event share its end; false when it is none.
    mutating func join(_ id: EventID, at place: AnswerPlace) -> Bool { events[id]?.places.append(place) != nil }

    /// Takes out an event that the owners kept or refused.
    mutating func end(_ id: EventID, isKept: Bool, _ batch: inout OpenBatch) {
        guard let waiting = events.removeValue(forKey: id) else { return }
        batch.verdicts.resume(waiting)
        batch.note(isKept ? EventOutcome(event: id, end: .finished(.accepted)) : .notKept(id))
    }

    /// Takes out all events, none of which counts as kept.
    mutating func endAll(_ batch: inout OpenBatch) {
        for id in Array(events.keys) { end(id, isKept: false, &batch) }
    }
}

extension MatchIndex {
    /// The keys of those accounts, as far as they are registered.
    func keys(of accounts: [AccountNumber]) -> [PublicKey] {
        var keys: [PublicKey] = []
        for account in accounts {
            if let key = key(of: account) { keys.append(key) }
        }
        return keys
    }
}
