import Nostr
import Units

/// Live events that the delegate did not deal with, to be read again after a pause.
struct MissedEvents: Sendable {
    private var events: [EventID: Reading] = [:]
    private(set) var retryAt = Timestamp.epoch
    private var failures = 0

    var isEmpty: Bool { events.isEmpty }
    var count: Int { events.count }

    func isDue(_ now: Timestamp) -> Bool { !events.isEmpty && retryAt <= now }
    func contains(_ id: EventID) -> Bool { events[id] != nil }

    mutating func add(_ id: EventID, now: Timestamp, _ settings: SessionSettings) {
        if events.isEmpty {
            retryAt = now + settings.pause(after: failures)
            failures += 1
        }
        events[id] = .stored
    }

    mutating func take() -> [EventID: Reading] {
        defer { events = [:] }
        return events
    }

    mutating func putBack(_ others: [EventID: Reading]) { events.merge(others) { one, _ in one } }

    mutating func wereRead() { failures = 0 }
}
