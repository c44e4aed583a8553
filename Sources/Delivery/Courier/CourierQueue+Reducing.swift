import DequeModule
import Notifications

extension CourierQueue {
    /// Puts what may pass in place of the lane's first delivery there; false when nothing is left to leave out.
    ///
    /// In memory only: after a restart the whole is tried once more, and comes to the same.
    mutating func reduce(_ lane: Int, _ outcome: Outcome, into actions: inout CourierActions) -> Bool {
        guard let stored = lanes[lane].waiting.first,
            let lessened = stored.delivery.notification.lessened(after: outcome)
        else { return false }
        var delivery = stored.delivery
        delivery.notification = lessened
        lanes[lane].waiting[0] = StoredDelivery(
            key: stored.key,
            delivery: delivery,
            attempts: stored.attempts + 1,
            due: stored.due
        )
        actions.reports.append(
            DeliveryReport(
                delivery: delivery.id,
                device: delivery.device,
                queue: name,
                kind: .reduced,
                status: outcome.status,
                reason: outcome.reason,
                attempt: stored.attempts + 1,
                acceptedAt: delivery.acceptedAt
            )
        )
        return true
    }
}
