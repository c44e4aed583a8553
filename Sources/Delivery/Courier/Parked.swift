/// Something that waits for a time to come.
struct Parked: Comparable, Sendable {
    enum Content: Sendable {
        /// A device's lane, with all that waits in it.
        case lane(Int)
        /// One delivery that stands aside from its device's lane.
        case single(StoredDelivery)
    }

    let place: RetryPlace
    let content: Content

    static func < (left: Parked, right: Parked) -> Bool { left.place < right.place }

    static func == (left: Parked, right: Parked) -> Bool { left.place == right.place }
}
