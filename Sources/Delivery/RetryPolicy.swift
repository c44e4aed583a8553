import Notifications

/// When a delivery that failed is attempted again, and when it is given up: exponential backoff with full jitter.
package struct RetryPolicy: Sendable, Equatable {
    /// The longest wait after the first failed attempt, in milliseconds; it doubles with every further one.
    package var base: Int64
    /// The longest wait whatever the number of attempts, in milliseconds. A push service may ask for more.
    package var cap: Int64
    /// How long after its acceptance a delivery is given up, in milliseconds. A notification's own `expiresAt` counts
    /// where it comes first.
    package var lifetime: Int64

    package init(base: Int64 = 1000, cap: Int64 = 15 * 60_000, lifetime: Int64 = 24 * 3_600_000) {
        self.base = base
        self.cap = cap
        self.lifetime = lifetime
    }

    /// From when on `delivery` is not attempted any more, in milliseconds since 1970.
    package func deadline(of delivery: Delivery) -> Int64 {
        let (end, overflow) = delivery.acceptedAt.addingReportingOverflow(lifetime)
        let lifetimeEnd = overflow ? Int64.max : end
        let expiresAt = delivery.notification.expiresAt
        return expiresAt > 0 ? min(expiresAt, lifetimeEnd) : lifetimeEnd
    }

    /// The longest wait after `attempts` failed ones, in milliseconds.
    package func ceiling(attempts: Int) -> Int64 {
        let doublings = max(0, attempts - 1)
        guard doublings < 40 else { return cap }
        let (wait, overflow) = base.multipliedReportingOverflow(by: 1 << Int64(doublings))
        return overflow ? cap : min(wait, cap)
    }

    /// When to try again after `attempts` failed ones, in milliseconds since 1970; nil: `delivery` has expired by then.
    ///
    /// The wait is drawn evenly between 0 and ``ceiling(attempts:)``, behind the milliseconds the push service asked
    /// for: those who were told the same do not come back together. Who asks for longer than `delivery` lives is asked
    /// again after ``cap``: they may have meant less.
    package func nextAttempt(
        of delivery: Delivery,
        attempts: Int,
        retryAfter: UInt32,
        now: Int64,
        random: inout some RandomNumberGenerator
    ) -> Int64? {
        let asked = Int64(retryAfter)
        let believed =
            asked < deadline(of: delivery).subtractingReportingOverflow(now).partialValue ? asked : min(asked, cap)
        let wait = believed + Int64.random(in: 0...max(0, ceiling(attempts: attempts)), using: &random)
        let (due, overflow) = now.addingReportingOverflow(wait)
        guard !overflow, due < deadline(of: delivery) else { return nil }
        return due
    }
}
