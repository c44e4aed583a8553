import Nostr

/// A subscription to what is to come, and its replacement while that is not ready.
struct LiveSubscription: Sendable {
    enum Name: Hashable, Sendable {
        /// What is addressed to our own key.
        case own
        /// The keys of one chunk.
        case chunk(Int)
        /// Everything of the kinds wanted, whomever it concerns.
        case kinds
    }

    /// Its stored events have ended: what comes is live.
    var open: SubscriptionID?
    /// Requested; its stored events have not ended.
    var pending: SubscriptionID?
    /// When the last REQ was sent.
    var sentAt: Int64?
    /// Its length.
    var sentBytes = 0
    /// When the relay was last heard in answer to it.
    var heardAt: Int64?
    /// When to send a REQ, since there is something new to say in it or the last failed.
    var dueAt: Int64?
    /// When to send a REQ in any case, since it speaks of keys that are not watched any more.
    var pruneAt: Int64?
    var failures = 0
    var awaitsAuthentication = false
    /// The relay will not have it. It is tried again at ``dueAt``, which is far away.
    var isGivenUp = false

    /// Whether everything that is to be in it is live.
    var isComplete: Bool { open != nil && pending == nil && dueAt == nil }

    /// Whether nothing happens to it soon.
    var isSettled: Bool { isComplete || (pending == nil && open == nil && failures > 2) || isGivenUp }

    /// When the next REQ is to be sent, if one is.
    var nextRequest: Int64? {
        guard pending == nil, let next = [dueAt, pruneAt].compactMap(\.self).min() else { return nil }
        return next
    }
}
