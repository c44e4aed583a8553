/// Lets a burst through and then one every so often, with one number to remember for each that is limited.
struct RateLimit {
    /// The one number: when, in milliseconds on the caller's clock, all credit is back.
    typealias Debt = Int64

    /// How many may come at once.
    let burst: Int64
    /// Milliseconds for each further one.
    let interval: Int64

    /// Whether one more may pass at `now`, and notes it. A clock that jumps back delays nothing for longer than the burst.
    func take(_ debt: inout Debt, at now: Int64) -> Bool {
        let most = now + burst * interval
        debt = min(debt, most)
        let after = max(now, debt) + interval
        guard after <= most else { return false }
        debt = after
        return true
    }
}
