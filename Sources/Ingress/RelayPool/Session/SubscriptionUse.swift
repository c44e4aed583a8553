/// What one of our subscriptions at a relay is for.
enum SubscriptionUse: Hashable, Sendable {
    case live(LiveSubscription.Name)
    /// Live, and to be closed as soon as others have taken over. With its former name, if keys still have the places that had it.
    case retired(LiveSubscription.Name?)
    case sweep(UInt32)
    case fetch(UInt64)
}
