import Nostr

/// The events of deliveries that have not ended yet, so that what is reported of them goes to their events' rows and
/// needs no index of its own.
///
/// Only of deliveries that nobody but one event knows: what was held together is looked for by its delivery.
struct OpenDeliveries {
    private struct Name: Hashable {
        let words: (UInt64, UInt64)

        init?(_ id: String) {
            let words = DeliveryName.withBytes(id) { bytes in
                bytes.count == 16 ? bytes.loadUnaligned(as: (UInt64, UInt64).self) : nil
            }
            guard let words else { return nil }
            self.words = words
        }

        static func == (left: Name, right: Name) -> Bool { left.words == right.words }

        func hash(into hasher: inout Hasher) {
            hasher.combine(words.0)
            hasher.combine(words.1)
        }
    }

    /// Some 3 MB. What is more than that is forgotten, and its reports get rows of their own.
    static let most = 32_768

    private var events: [Name: EventID] = [:]

    /// Whether an entry that was taken is the first of a push that has not ended.
    func isUnderWay(_ entry: TraceEntry) -> Bool {
        guard entry.isWholePush, let name = entry.delivery.flatMap(Name.init) else { return false }
        return events[name] != nil
    }

    /// The event that an entry is found with; entries are to come in their order.
    mutating func event(of entry: TraceEntry) -> EventID? {
        if let event = entry.event {
            if let delivery = entry.delivery, entry.isWholePush, let name = Name(delivery) {
                if events.count >= Self.most { events.removeAll(keepingCapacity: true) }
                events[name] = event
            }
            return event
        }
        guard case .report(let report) = entry.what, let name = entry.delivery.flatMap(Name.init) else { return nil }
        return report.isEnd ? events.removeValue(forKey: name) : events[name]
    }
}
