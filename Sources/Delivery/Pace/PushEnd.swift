import Notifications

/// The end of a delivery, as far as its device's pace is concerned: also that of one which stands aside, however it ends later.
package struct PushEnd: Sendable, Hashable {
    package var device: DeviceID
    /// The delivery's id.
    package var delivery: String
    /// Whether it counts: it was delivered, or the push service had it and refused it. What failed otherwise counts for
    /// nothing.
    package var counts: Bool
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
            counts: report.kind == .delivered || report.kind == .rejected,
            standsAside: report.standsAside,
            moment: moment
        )
    }

    package init(
        device: DeviceID,
        delivery: String,
        counts: Bool,
        standsAside: Bool = false,
        moment: Int64
    ) {
        self.device = device
        self.delivery = delivery
        self.counts = counts
        self.standsAside = standsAside
        self.moment = moment
    }
}
