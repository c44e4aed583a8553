import DequeModule
import Notifications

extension CourierQueue {
    /// Puts the stricter form of the lane's first delivery in its place; false when nothing is left to leave out.
    ///
    /// In memory only: after a restart the whole is tried once more, and comes to the same.
    mutating func reduce(_ lane: Int, _ outcome: Outcome, into actions: inout CourierActions) -> Bool {
        guard outcome.asksForLess, let stored = lanes[lane].waiting.first,
            let stricter = stored.delivery.notification.stricter
        else { return false }
        var delivery = stored.delivery
        delivery.notification = stricter
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
                attempt: stored.attempts + 1
            )
        )
        return true
    }
}
