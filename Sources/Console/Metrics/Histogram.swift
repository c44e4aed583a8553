import Synchronization

/// How values are spread, in buckets that stay the same. A value type: whoever shares one brings it under a lock, or
/// keeps one of its own and merges.
package struct Histogram: Sendable, Equatable {
    /// The upper ends of the buckets but the last, which has none; ascending.
    package let bounds: [Double]
    /// How many values each bucket holds; no value counts twice.
    package private(set) var counts: [UInt64]
    package private(set) var sum = 0.0

    package init(bounds: [Double]) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count + 1)
    }

    /// `counts` has one more element than `bounds`.
    init(bounds: [Double], counts: [UInt64], sum: Double) {
        self.bounds = bounds
        self.counts = counts
        self.sum = sum
    }

    /// Counts `value` as often as `times` says. What is less than 0 counts as 0: clocks jump back.
    package mutating func observe(_ value: Double, times: UInt64 = 1) {
        let value = max(0, value)
        var bucket = 0
        while bucket < bounds.count, value > bounds[bucket] { bucket += 1 }
        counts[bucket] += times
        sum += value * Double(times)
    }

    /// From a millisecond to a day, for what waits for disks, networks and people.
    package static var seconds: Histogram {
        Histogram(
            bounds: [
                0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200,
                86_400,
            ]
        )
    }
}

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
