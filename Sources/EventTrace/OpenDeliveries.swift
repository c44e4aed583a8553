import Nostr
import Notifications

/// The events of deliveries that have not ended yet, so that what is reported of them goes to their events' rows and
/// needs no index of its own.
///
/// Only of deliveries that nobody but one event knows: what was held together is looked for by its delivery.
struct OpenDeliveries {
    /// Some 3 MB. What is more than that is forgotten, and its reports get rows of their own.
    static let most = 32_768

    private var events: [DeliveryID: EventID] = [:]

    /// Whether an entry that was taken is the first of a push that has not ended.
    func isUnderWay(_ entry: TraceRecord) -> Bool {
        guard entry.isWholePush, let delivery = entry.delivery else { return false }
        return events[delivery] != nil
    }

    /// The event that an entry is found with; entries are to come in their order.
    mutating func event(of entry: TraceRecord) -> EventID? {
        if let event = entry.event {
            if entry.isWholePush, let delivery = entry.delivery {
                if events.count >= Self.most { events.removeAll(keepingCapacity: true) }
                events[delivery] = event
            }
            return event
        }
        guard entry.isReport, let delivery = entry.delivery else { return nil }
        return entry.isEnd ? events.removeValue(forKey: delivery) : events[delivery]
    }
}
