import Delivery
import Notifications
import Testing

struct RetryPolicyTests {
    private let policy = RetryPolicy()
    private let start: Int64 = 1_700_000_000_000

    @Test func ceilingsDoubleUpToTheCap() {
        #expect(
            (1...12).map { policy.ceiling(attempts: $0) } == [
                1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000, 256_000, 512_000, 900_000, 900_000,
            ]
        )
        #expect(policy.ceiling(attempts: 0) == 1000)
        #expect(policy.ceiling(attempts: .max) == 900_000)
        #expect(RetryPolicy(base: .max / 2, cap: 7).ceiling(attempts: 3) == 7)
    }

    @Test func waitsAreDrawnEvenlyBelowTheCeiling() throws {
        var random = SeededGenerator(seed: 1)
        for attempts in [1, 5, 11] {
            let ceiling = policy.ceiling(attempts: attempts)
            let waits = try (0..<4000).map { _ in
                try #require(
                    policy.nextAttempt(
                        of: .sample(1),
                        attempts: attempts,
                        retryAfter: 0,
                        now: start,
                        random: &random
                    )
                ) - start
            }
            #expect(waits.allSatisfy { (0...ceiling).contains($0) })
            let mean = Double(waits.reduce(0, +)) / 4000
            #expect(abs(mean / Double(ceiling) - 0.5) < 0.02)
        }
    }

    @Test func theSameSeedGivesTheSameWaits() {
        var first = SeededGenerator(seed: 9)
        var second = SeededGenerator(seed: 9)
        for attempts in 1...20 {
            let one = policy.nextAttempt(
                of: .sample(1),
                attempts: attempts,
                retryAfter: 0,
                now: start,
                random: &first
            )
            let other = policy.nextAttempt(
                of: .sample(1),
                attempts: attempts,
                retryAfter: 0,
                now: start,
                random: &second
            )
            #expect(one == other)
        }
    }

    @Test func whatThePushServiceAsksForIsTheLeast() throws {
        var random = SeededGenerator(seed: 3)
        for _ in 0..<100 {
            let due = try #require(
                policy.nextAttempt(of: .sample(1), attempts: 1, retryAfter: 3_600_000, now: start, random: &random)
            )
            #expect((start + 3_600_000...start + 3_601_000).contains(due))
        }
    }

    @Test func aDeliveryEndsWithItsLifetimeOrItsNotification() {
        let day: Int64 = 24 * 3_600_000
        #expect(policy.deadline(of: .sample(1)) == start + day)
        #expect(policy.deadline(of: .sample(1, expiresAt: start + 5)) == start + 5)
        #expect(policy.deadline(of: .sample(1, expiresAt: start + 2 * day)) == start + day)
        #expect(policy.deadline(of: .sample(1, acceptedAt: .max - 1)) == .max)
    }

    @Test func noAttemptIsPlannedBehindTheDeadline() {
        var random: some RandomNumberGenerator = LargestGenerator()
        let delivery = Delivery.sample(1, expiresAt: start + 1001)
        #expect(
            policy.nextAttempt(of: delivery, attempts: 1, retryAfter: 0, now: start, random: &random) == start + 1000
        )
        #expect(policy.nextAttempt(of: delivery, attempts: 1, retryAfter: 1, now: start, random: &random) == nil)
        #expect(policy.nextAttempt(of: delivery, attempts: 2, retryAfter: 0, now: start, random: &random) == nil)
        #expect(policy.nextAttempt(of: delivery, attempts: 1, retryAfter: .max, now: .max, random: &random) == nil)
    }

    @Test func whoAsksForLongerThanADeliveryLivesIsAskedAgainAfterTheLongestPause() {
        var random: some RandomNumberGenerator = LargestGenerator()
        let delivery = Delivery.sample(1, expiresAt: start + 3_600_000)
        let twoDays: UInt32 = 48 * 3_600_000
        let due = policy.nextAttempt(of: delivery, attempts: 1, retryAfter: twoDays, now: start, random: &random)
        #expect(due == start + policy.cap + 1_000)
        // As long as there is time for that; what it lives to see is waited for.
        let late = start + 3_600_000 - policy.cap - 1_000
        #expect(policy.nextAttempt(of: delivery, attempts: 1, retryAfter: twoDays, now: late, random: &random) == nil)
        #expect(
            policy.nextAttempt(of: delivery, attempts: 1, retryAfter: 3_000_000, now: start, random: &random)
                == start + 3_001_000
        )
    }
}
