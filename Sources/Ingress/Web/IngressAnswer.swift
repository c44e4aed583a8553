/// What became of a push message, and so what its sender is told.
package enum IngressAnswer: Sendable, Hashable, CaseIterable {
    /// It is on disk and will be attempted.
    case queued
    /// Not now, for reasons of our own: the sender is to come again.
    case busy
    /// Most of the device tokens that this client brought of late were refused.
    case mistrusted
    /// The push service called the device token dead.
    case gone
    /// No push service will ever take this device token.
    case unknownDevice
}
