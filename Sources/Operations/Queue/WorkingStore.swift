import Delivery

/// Where deliveries wait or failed, among all places of a cluster.
package enum StorePlace: Hashable, Comparable, Sendable, LosslessStringConvertible {
    case partition(Int)
    /// What a member has beside its partitions; empty: what a router has that serves alone.
    case outbox(of: String)

    package static let alone = StorePlace.outbox(of: "")

    package init?(_ description: String) {
        if description.first == "@" {
            self = .outbox(of: String(description.dropFirst()))
        } else if let number = Int(description), number >= 0 {
            self = .partition(number)
        } else {
            return nil
        }
    }

    package var description: String {
        switch self {
        case .partition(let number): "\(number)"
        case .outbox(let member): "@\(member)"
        }
    }
}

/// Deliveries that a router works on: its outbox, or a partition that it owns.
package struct WorkingStore: Sendable {
    package let place: StorePlace
    package let courier: Courier
    package let store: any DeadLetterStore
    package let reader: OutboxReader

    package init(_ place: StorePlace, _ courier: Courier, _ store: any DeadLetterStore, _ reader: OutboxReader) {
        (self.place, self.courier, self.store, self.reader) = (place, courier, store, reader)
    }
}

/// A place behind a delivery: where the next answer goes on.
struct PlacedCursor: Hashable, Sendable, LosslessStringConvertible {
    let place: StorePlace
    let cursor: QueueCursor

    init(_ place: StorePlace, _ cursor: QueueCursor) { (self.place, self.cursor) = (place, cursor) }

    /// As in `f12` for a router that serves alone, `7.w3` for a partition and `@router-1.f2`.
    init?(_ description: String) {
        let parts = description.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let last = parts.last, let cursor = QueueCursor(String(last)) else { return nil }
        guard parts.count > 1 else {
            self.init(.alone, cursor)
            return
        }
        guard let place = StorePlace(String(parts[0])) else { return nil }
        self.init(place, cursor)
    }

    var description: String { place == .alone ? cursor.description : "\(place).\(cursor)" }
}

extension PlacedCursor: Comparable {
    /// Place after place, and in each what failed before what waits.
    static func < (left: PlacedCursor, right: PlacedCursor) -> Bool {
        (left.place, left.cursor) < (right.place, right.cursor)
    }
}
