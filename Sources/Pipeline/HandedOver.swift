import Nostr
import Registry

/// Who owns the partitions of accounts, where several routers work as one.
package protocol PartitionOwners: Sendable {
    /// Hands a verified event over to the owners of the partitions of `accounts`. Calls `completion` once, on any
    /// thread: `isKept` says whether everything that the event leads to is kept. Called on the pipeline's thread; must
    /// not block.
    func handOver(
        _ event: Event,
        from source: EventSource,
        concerning accounts: [PublicKey],
        completion: @escaping @Sendable (_ isKept: Bool) -> Void
    )
}

/// Events that owners of partitions were asked to keep, and that are not answered yet.
struct HandedOverEvents {
    private var events: [EventID: WaitingEvent] = [:]

    var isEmpty: Bool { events.isEmpty }
    var count: Int { events.count }

    mutating func add(_ event: WaitingEvent) { events[event.event.id] = event }

    /// Lets a further copy of such an event share its end; false when it is none.
    mutating func join(_ id: EventID, at place: AnswerPlace) -> Bool { events[id]?.places.append(place) != nil }

    mutating func take(_ id: EventID) -> WaitingEvent? { events.removeValue(forKey: id) }

    mutating func takeAll() -> [WaitingEvent] {
        defer { events = [:] }
        return Array(events.values)
    }
}
