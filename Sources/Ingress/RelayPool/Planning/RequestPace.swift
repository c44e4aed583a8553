/// Lets a burst of REQs pass and then a fixed number a second, fewer after a complaint of the relay.
struct RequestPace: Hashable, Sendable {
    private let burst: Double
    private let usual: Double
    private var perSecond: Double
    private var tokens: Double
    private var filledAt: Int64
    private var complainedAt: Int64?

    /// After this time without a complaint the pace doubles again, in milliseconds.
    private static let forgiveness: Int64 = 60_000

    init(burst: Double, perSecond: Double, now: Int64) {
        self.burst = max(1, burst)
        usual = max(0.01, perSecond)
        self.perSecond = usual
        tokens = self.burst
        filledAt = now
    }

    /// Whether one may be sent at `now`.
    mutating func take(at now: Int64) -> Bool {
        fill(now)
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }

    /// When the next may be sent.
    mutating func next(after now: Int64) -> Int64 {
        fill(now)
        let missing = 1 - tokens
        return missing <= 0 ? now : now + Int64((missing / perSecond * 1_000).rounded(.up))
    }

    /// Halves the pace, at most once a second: several refusals at one time are one complaint.
    mutating func slowDown(at now: Int64) {
        if let complainedAt, now - complainedAt < 1_000 { return }
        fill(now)
        complainedAt = now
        perSecond = max(usual / 64, perSecond / 2)
        tokens = 0
    }

    /// Returns to the usual pace, because the relay did not complain about it.
    mutating func resume(at now: Int64) {
        fill(now)
        complainedAt = nil
        perSecond = usual
    }

    private mutating func fill(_ now: Int64) {
        if let since = complainedAt, now - since >= Self.forgiveness {
            perSecond = min(usual, perSecond * 2)
            complainedAt = perSecond < usual ? now : nil
        }
        tokens = min(perSecond < usual ? 1 : burst, tokens + Double(max(0, now - filledAt)) / 1_000 * perSecond)
        filledAt = now
    }
}
