/// Part of what waits on disk in one queue, in the order in which it shall be attempted.
package struct OutboxPage: Sendable {
    /// A row that cannot be read any more; it is reported and removed.
    package struct Unreadable: Sendable {
        package let key: OutboxKey
        package let id: String
        package let device: Int64

        package init(key: OutboxKey, id: String, device: Int64) {
            self.key = key
            self.id = id
            self.device = device
        }
    }

    package var deliveries: [StoredDelivery] = []
    package var unreadable: [Unreadable] = []
    /// Whether nothing lay behind this page when it was read.
    package var isLast: Bool

    package init(deliveries: [StoredDelivery] = [], isLast: Bool) {
        self.deliveries = deliveries
        self.isLast = isLast
    }
}
