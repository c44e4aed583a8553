import Synchronization

/// A histogram of durations that many threads observe without a lock.
package final class AtomicHistogram: Sendable {
    private static let bounds = Histogram.seconds.bounds

    private let counts = InlineArray<20, Atomic<UInt64>> { _ in Atomic(0) }
    private let microseconds = Atomic<UInt64>(0)

    package init() {
        precondition(Self.bounds.count < counts.count)
    }

    /// Counts a duration as often as `times` says.
    package func observe(nanoseconds: UInt64, times: UInt64 = 1) {
        let seconds = Double(nanoseconds) / 1e9
        var bucket = 0
        while bucket < Self.bounds.count, seconds > Self.bounds[bucket] { bucket += 1 }
        counts[bucket].wrappingAdd(times, ordering: .relaxed)
        microseconds.wrappingAdd(nanoseconds / 1_000 &* times, ordering: .relaxed)
    }

    /// What was counted so far; what is being counted at this moment may be there in part.
    package var snapshot: Histogram {
        let counts = (0...Self.bounds.count).map { self.counts[$0].load(ordering: .relaxed) }
        let sum = Double(microseconds.load(ordering: .relaxed)) / 1e6
        return Histogram(bounds: Self.bounds, counts: counts, sum: sum)
    }
}
