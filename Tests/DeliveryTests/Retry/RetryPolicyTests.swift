import Core
import Delivery
import Push
import RandomTestSupport
import Testing
import TimeTestSupport

struct RetryPolicyTests {
    private let policy = RetryPolicy()
    private let start: Timestamp = 1_700_000_000_000

    @Test func ceilingsDoubleUpToTheCap() {
        #expect(
            (1...12).map { policy.ceiling(attempts: $0) }
                == [
                    1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900,
                ].map { .seconds($0) }
        )
        #expect(policy.ceiling(attempts: 0) == .seconds(1))
        #expect(policy.ceiling(attempts: .max) == .minutes(15))
        #expect(
            RetryPolicy(base: .seconds(Int64.max / 2), cap: .milliseconds(7)).ceiling(attempts: 3) == .milliseconds(7)
        )
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
                        retryAfter: .zero,
                        now: start,
                        random: &random
                    )
                ) - start
            }
            #expect(waits.allSatisfy { (.zero...ceiling).contains($0) })
            let mean = waits.reduce(.zero, +) / waits.count
            #expect(abs(mean / ceiling - 0.5) < 0.02)
        }
    }

    @Test func theSameSeedGivesTheSameWaits() {
        var first = SeededGenerator(seed: 9)
        var second = SeededGenerator(seed: 9)
        for attempts in 1...20 {
            let one = policy.nextAttempt(
                of: .sample(1),
                attempts: attempts,
                retryAfter: .zero,
                now: start,
                random: &first
            )
            let other = policy.nextAttempt(
                of: .sample(1),
                attempts: attempts,
                retryAfter: .zero,
                now: start,
                random: &second
            )
            #expect(one == other)
        }
    }

    @Test func retryAfterIsTheMinimumDelay() throws {
        var random = SeededGenerator(seed: 3)
        for _ in 0..<100 {
            let due = try #require(
                policy.nextAttempt(of: .sample(1), attempts: 1, retryAfter: .hours(1), now: start, random: &random)
            )
            #expect((start + .hours(1)...start + .seconds(3601)).contains(due))
        }
    }

    @Test func aDeliveryEndsWithItsLifetimeOrItsNotification() {
        #expect(policy.deadline(of: .sample(1)) == start + .hours(24))
        #expect(policy.deadline(of: .sample(1, expiresAt: start + .milliseconds(5))) == start + .milliseconds(5))
        #expect(policy.deadline(of: .sample(1, expiresAt: start + .hours(48))) == start + .hours(24))
        #expect(policy.deadline(of: .sample(1, acceptedAt: Timestamp(milliseconds: .max - 1))) == .distantFuture)
    }

    @Test func noAttemptIsPlannedAfterTheDeadline() {
        var random: some RandomNumberGenerator = LargestGenerator()
        let delivery = Delivery.sample(1, expiresAt: start + .milliseconds(1001))
        #expect(
            policy.nextAttempt(of: delivery, attempts: 1, retryAfter: .zero, now: start, random: &random) == start
                + .seconds(1)
        )
        #expect(
            policy.nextAttempt(of: delivery, attempts: 1, retryAfter: .milliseconds(1), now: start, random: &random)
                == nil
        )
        #expect(policy.nextAttempt(of: delivery, attempts: 2, retryAfter: .zero, now: start, random: &random) == nil)
        #expect(
            policy.nextAttempt(
                of: delivery,
                attempts: 1,
                retryAfter: .milliseconds(Int64(UInt32.max)),
                now: .distantFuture,
                random: &random
            ) == nil
        )
    }

    @Test func retryAfterBeyondTheLifetimeIsCappedAtTheLongestPause() {
        var random: some RandomNumberGenerator = LargestGenerator()
        let delivery = Delivery.sample(1, expiresAt: start + .hours(1))
        let twoDays: Duration = .hours(48)
        let due = policy.nextAttempt(of: delivery, attempts: 1, retryAfter: twoDays, now: start, random: &random)
        #expect(due == start + policy.cap + .seconds(1))
        // Only if the lifetime allows that; a requested wait within the lifetime is respected.
        let late = start + .hours(1) - policy.cap - .seconds(1)
        #expect(policy.nextAttempt(of: delivery, attempts: 1, retryAfter: twoDays, now: late, random: &random) == nil)
        #expect(
            policy.nextAttempt(of: delivery, attempts: 1, retryAfter: .minutes(50), now: start, random: &random)
                == start + .seconds(3001)
        )
    }
}
