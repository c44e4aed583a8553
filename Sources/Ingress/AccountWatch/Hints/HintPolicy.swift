/// What partners' wake-up hints (seed 004, kind 20062) mean for the subscriptions on an account's behalf.
package enum HintPolicy: String, Sendable, Hashable, CaseIterable {
    /// Hints are not listened to.
    case ignore
    /// Hints wake, and so does what relays bring.
    case also
    /// An account with a partner that was heard lately is left to its partners; relays are not asked for it.
    case prefer
}
