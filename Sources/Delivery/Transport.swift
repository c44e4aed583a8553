import Notifications

/// What a courier hands a delivery to: one platform of one app. Implemented by the plugin host.
package protocol Transport: Sendable {
    /// Attempts `delivery` and calls `completion` exactly once, from any thread, perhaps before this returns: the host
    /// behind it keeps a deadline, so a plugin that never answers ends as a retry.
    func deliver(_ delivery: Delivery, to address: DeviceAddress, completion: @escaping @Sendable (Outcome) -> Void)
}
