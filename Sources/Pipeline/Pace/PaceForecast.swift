import Delivery
import Registry

/// How a device would be woken if anything came now, for those who ask beside the pipeline.
package struct PaceForecast: Sendable, Hashable {
    /// Of the UTC day.
    package let pushesToday: Int
    /// How many matches wait for it.
    package let held: Int
    /// When a push could go, in milliseconds since 1970; nil: at once, or when what stands against it has ended.
    package let nextPushAt: Int64?
    /// What stands longest against a push now.
    package let reason: HoldReason?

    /// `row` and `held` are what the outbox has of the device, `now` is in milliseconds since 1970. What passes quiet hours
    /// may go earlier.
    package init(_ row: PaceRow?, _ held: [HeldRow], wishes: PaceWishes, policy: PacingPolicy, at now: Int64) {
        var pace = row.map { DevicePace($0) } ?? DevicePace()
        let wish = policy.pace(for: wishes)
        let obstacle = pace.obstacle(to: wish, at: now)
        pushesToday = pace.dayOfPushes == DevicePace.number(ofDay: now) ? Int(pace.pushes) : 0
        self.held = held.reduce(0) { $0 + Int($1.count) }
        nextPushAt = obstacle.flatMap { $0.until == .max ? nil : $0.until }
        reason = obstacle?.reason
    }
}
