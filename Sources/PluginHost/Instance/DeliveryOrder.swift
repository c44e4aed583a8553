import Notifications

/// One delivery of several that a transport is to attempt.
package struct DeliveryOrder: Sendable {
    package let notification: Notification
    /// The message id, the same on every attempt.
    package let id: DeliveryID
    package let address: DeviceAddress
    /// Called exactly once, on any thread.
    package let completion: @Sendable (Outcome) -> Void

    package init(
        _ notification: Notification,
        id: DeliveryID,
        to address: DeviceAddress,
        completion: @escaping @Sendable (Outcome) -> Void
    ) {
        self.notification = notification
        self.id = id
        self.address = address
        self.completion = completion
    }
}

/// Which deliveries a plugin gets at once.
enum DeliveryBatches {
    /// In their order, at most `limit` together, and with `perToken` only such as go to one token.
    static func divide(_ orders: [DeliveryOrder], limit: Int, perToken: Bool) -> [[DeliveryOrder]] {
        var batches: [[DeliveryOrder]] = []
        var places: [String: Int] = [:]
        for order in orders {
            let token = perToken ? order.address.token : ""
            if let place = places[token], batches[place].count < limit {
                batches[place].append(order)
            } else {
                places[token] = batches.count
                batches.append([order])
            }
        }
        return batches
    }
}
