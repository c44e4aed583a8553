import Notifications
import Units

/// When a delivery that failed is attempted again, and when it is given up: exponential backoff with full jitter.
package struct RetryPolicy: Sendable, Equatable {
    /// The longest wait after the first failed attempt; it doubles with every further one.
    package var base: Duration
    /// The longest wait whatever the number of attempts. A push service may ask for more.
    package var cap: Duration
    /// How long after its acceptance a delivery is given up. A notification's own `expiresAt` counts where it comes
    /// first.
    package var lifetime: Duration

    package init(
        base: Duration = .seconds(1),
        cap: Duration = .minutes(15),
        lifetime: Duration = .hours(24)
    ) {
        self.base = base
        self.cap = cap
        self.lifetime = lifetime
    }

    /// From when on `delivery` is not attempted any more.
    package func deadline(of delivery: Delivery) -> Timestamp {
        let lifetimeEnd = delivery.acceptedAt + lifetime
        let expiresAt = delivery.notification.expiresAt
        return expiresAt > .epoch ? min(expiresAt, lifetimeEnd) : lifetimeEnd
    }

    /// Whether `delivery` is still worth something when it is given up: its own end comes later, or never.
    package func outlives(_ delivery: Delivery) -> Bool {
        let expiresAt = delivery.notification.expiresAt
        return expiresAt <= .epoch || expiresAt > delivery.acceptedAt + lifetime
    }

    /// The longest wait after `attempts` failed ones.
    package func ceiling(attempts: Int) -> Duration {
        let doublings = max(0, attempts - 1)
        guard doublings < 40 else { return cap }
        let factor = 1 << doublings
        return base < cap / factor ? base * factor : cap
    }

    /// When to try again after `attempts` failed ones; nil: `delivery` has expired by then.
    ///
    /// The wait is drawn evenly between 0 and ``ceiling(attempts:)``, behind the time the push service asked
    /// for: clients with the same answer do not come back together. Who asks for longer than `delivery` lives is asked
    /// again after ``cap``: they may have meant less.
    package func nextAttempt(
        of delivery: Delivery,
        attempts: Int,
        retryAfter: Duration,
        now: Timestamp,
        random: inout some RandomNumberGenerator
    ) -> Timestamp? {
        let deadline = deadline(of: delivery)
        let believed = retryAfter < deadline - now ? retryAfter : min(retryAfter, cap)
        let jitter = Int64.random(in: 0...max(0, ceiling(attempts: attempts).milliseconds), using: &random)
        let due = now + (believed + .milliseconds(jitter))
        return due < deadline ? due : nil
    }
}
