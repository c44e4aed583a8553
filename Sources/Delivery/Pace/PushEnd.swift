import Notifications

/// The end of a delivery, as far as its device's pace is concerned: also that of one which stands aside, however it ends later.
package struct PushEnd: Sendable, Hashable {
    package var device: DeviceID
    /// The delivery's id.
    package var delivery: String
    /// Whether the device was woken: what failed counts for nothing.
    package var isDelivered: Bool
    /// Whether it may still be delivered, but keeps nothing else waiting.
    package var standsAside: Bool
    /// In milliseconds since 1970.
    package var moment: Int64

    /// Nil for a report that is no end: the delivery goes on, perhaps in another queue.
    package init?(_ report: DeliveryReport, at moment: Int64) {
        guard report.standsAside || (report.kind.isFinal && report.kind != .moved) else { return nil }
        self.init(
            device: report.device,
            delivery: report.delivery,
            isDelivered: report.kind == .delivered,
            standsAside: report.standsAside,
            moment: moment
        )
    }

    package init(
        device: DeviceID,
        delivery: String,
        isDelivered: Bool,
        standsAside: Bool = false,
        moment: Int64
    ) {
        self.device = device
        self.delivery = delivery
        self.isDelivered = isDelivered
        self.standsAside = standsAside
        self.moment = moment
    }
}
