import DequeModule
import HeapModule

extension CourierQueue {
    /// The clock was put back by so many milliseconds: all that waits for a moment waits for that much earlier a one.
    mutating func follow(clockSetBackBy step: Int64, into actions: inout CourierActions) {
        gate.follow(clockSetBackBy: step)
        service.follow(clockSetBackBy: step)
        hosts.follow(clockSetBackBy: step)
        endpoints.follow(clockSetBackBy: step)
        pause?.until.setBack(by: step)
        parked = Heap(parked.unordered.map { setBack($0, by: step, into: &actions) })
    }

    /// The disk learns of it too: after a restart nobody would know.
    private mutating func setBack(_ entry: Parked, by step: Int64, into actions: inout CourierActions) -> Parked {
        var place = entry.place
        place.due.setBack(by: step)
        switch entry.content {
        case .single(let stored):
            return Parked(place: place, content: .single(setBack(stored, by: step, into: &actions)))
        case .lane(let lane):
            for index in lanes[lane].waiting.indices {
                lanes[lane].waiting[index] = setBack(lanes[lane].waiting[index], by: step, into: &actions)
            }
            return Parked(place: place, content: .lane(lane))
        }
    }

    /// What waits for its first attempt waits for no moment.
    private func setBack(
        _ stored: StoredDelivery,
        by step: Int64,
        into actions: inout CourierActions
    ) -> StoredDelivery {
        guard var due = stored.due else { return stored }
        due.setBack(by: step)
        actions.changes.reschedulings.append(
            OutboxChanges.Rescheduling(key: stored.key, due: due, attempts: stored.attempts)
        )
        return stored.rescheduled(attempts: stored.attempts, due: due)
    }
}
