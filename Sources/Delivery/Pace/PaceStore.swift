import Notifications

/// Where devices' paces are kept: with the deliveries, so that what is released is a delivery in the same moment. Changes go in
/// by ``Courier/accept(_:causes:pace:)``.
package protocol PaceStore: Sendable {
    /// Calls `pace` with each device's row and then `held` with each group, without its notification. To be called once, before
    /// anything is accepted or attempted: a delivery that was under way and is no more in the outbox counts as delivered.
    /// Rows that mean nothing any more at `now`, in milliseconds since 1970, are dropped.
    func loadPaces(at now: Int64, pace: (PaceRow) -> Void, held: (HeldRow) -> Void) throws

    /// What the only member of that group says, or the latest where only that counts; nil when there is nothing, or it
    /// cannot be read.
    func heldNotification(_ key: HeldKey) throws -> HeldNotification?
}
