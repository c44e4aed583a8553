import RateLimits
import Units

/// Lets a burst of REQs pass and then a fixed number a second, fewer after a complaint of the relay.
struct RequestPace: Sendable {
    private let burst: Double
    private let usual: Double
    private var bucket: TokenBucket
    private var complainedAt: Timestamp?

    /// After this time without a complaint the pace doubles again.
    private static let forgiveness: Duration = .minutes(1)

    init(burst: Double, perSecond: Double, now: Timestamp) {
        self.burst = max(1, burst)
        usual = max(0.01, perSecond)
        bucket = TokenBucket(capacity: self.burst, perSecond: usual, now: now)
    }

    /// Whether one may be sent at `now`.
    mutating func take(at now: Timestamp) -> Bool {
        forgive(now)
        return bucket.take(at: now)
    }

    /// When the next may be sent.
    mutating func next(after now: Timestamp) -> Timestamp {
        forgive(now)
        return bucket.next(after: now)
    }

    /// Halves the pace, at most once a second: several refusals at one time are one complaint.
    mutating func slowDown(at now: Timestamp) {
        if let complainedAt, now - complainedAt < .seconds(1) { return }
        forgive(now)
        complainedAt = now
        setPace(max(usual / 64, bucket.perSecond / 2))
        bucket.empty(at: now)
    }

    /// Returns to the usual pace, because the relay did not complain about it.
    mutating func resume(at now: Timestamp) {
        forgive(now)
        bucket.fill(at: now)
        complainedAt = nil
        setPace(usual)
    }

    private mutating func forgive(_ now: Timestamp) {
        guard let since = complainedAt, now - since >= Self.forgiveness else { return }
        setPace(min(usual, bucket.perSecond * 2))
        complainedAt = bucket.perSecond < usual ? now : nil
    }

    /// A pace that is not the usual one has no burst.
    private mutating func setPace(_ perSecond: Double) {
        bucket.perSecond = perSecond
        bucket.capacity = perSecond < usual ? 1 : burst
    }
}
