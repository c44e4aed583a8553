import Synchronization

/// One metric with all its samples (Prometheus text format 0.0.4).
///
/// Label values come from bounded sets: our constants, configured names, and a limited number of plugin words.
package struct MetricFamily: Sendable, Equatable {
    package enum Kind: String, Sendable {
        case counter, gauge, histogram
    }

    /// Letters, digits and `_`, with the base unit, and `_total` at the end of a counter's name.
    package let name: String
    /// One sentence.
    package let help: String
    package let kind: Kind
    package private(set) var samples: [MetricSample] = []

    package init(_ name: String, _ kind: Kind, _ help: String) {
        self.name = name
        self.kind = kind
        self.help = help
    }

    /// The same metric with another label, placed first in each sample.
    package func labelled(_ label: String, _ value: String) -> MetricFamily {
        var family = self
        family.samples = samples.map { sample in
            let labels = [(label, value)] + sample.labels.map { ($0.name, $0.value) }
            return MetricSample(suffix: sample.suffix, labels: labels, value: sample.value)
        }
        return family
    }

    package mutating func add(_ value: Double, _ labels: KeyValuePairs<String, String> = [:]) {
        samples.append(MetricSample(suffix: "", labels: labels.map { ($0, $1) }, value: value))
    }

    package mutating func add(_ value: some BinaryInteger, _ labels: KeyValuePairs<String, String> = [:]) {
        add(Double(value), labels)
    }

    /// Adds the buckets, the sum and the count of `histogram`.
    package mutating func add(_ histogram: Histogram, _ labels: KeyValuePairs<String, String> = [:]) {
        let labels = labels.map { ($0, $1) }
        var total: UInt64 = 0
        for (index, count) in histogram.counts.enumerated() {
            total += count
            let bound = index < histogram.bounds.count ? histogram.bounds[index] : .infinity
            let bucket = labels + [("le", Exposition.number(bound))]
            samples.append(MetricSample(suffix: "_bucket", labels: bucket, value: Double(total)))
        }
        samples.append(MetricSample(suffix: "_sum", labels: labels, value: histogram.sum))
        samples.append(MetricSample(suffix: "_count", labels: labels, value: Double(total)))
    }
}

/// A line of a metric.
package struct MetricSample: Sendable, Equatable {
    /// Appended to the metric's name.
    package let suffix: String
    package let labels: [(name: String, value: String)]
    package let value: Double

    init(suffix: String, labels: [(String, String)], value: Double) {
        self.suffix = suffix
        self.labels = labels.map { (name: $0.0, value: $0.1) }
        self.value = value
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.suffix == right.suffix && left.value == right.value
            && left.labels.elementsEqual(right.labels) { $0.name == $1.name && $0.value == $1.value }
    }
}

/// Writes metrics for Prometheus (text format 0.0.4).
package enum Exposition {
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// Metrics without a sample are omitted.
    package static func text(of families: [MetricFamily]) -> String {
        var text = ""
        for family in families where !family.samples.isEmpty {
            text += "# HELP \(family.name) \(escaped(family.help, quotes: false))\n"
            text += "# TYPE \(family.name) \(family.kind.rawValue)\n"
            for sample in family.samples {
                text += family.name + sample.suffix
                if !sample.labels.isEmpty {
                    let labels = sample.labels.map { "\($0.name)=\"\(escaped($0.value, quotes: true))\"" }
                    text += "{" + labels.joined(separator: ",") + "}"
                }
                text += " \(number(sample.value))\n"
            }
        }
        return text
    }

    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if let whole = Int64(exactly: value) { return String(whole) }
        return String(value)
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\"" where quotes: result += "\\\""
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

/// A histogram with fixed buckets. A value type: share it under a lock, or keep a copy per thread and merge them.
package struct Histogram: Sendable, Equatable {
    /// Ascending upper bounds of all buckets except the last, which has none.
    package let bounds: [Double]
    /// The number of values in each bucket; not cumulative.
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

    /// Counts `value` `times` times. Negative values count as 0, because clocks can jump back.
    package mutating func observe(_ value: Double, times: UInt64 = 1) {
        let value = max(0, value)
        var bucket = 0
        while bucket < bounds.count, value > bounds[bucket] { bucket += 1 }
        counts[bucket] += times
        sum += value * Double(times)
    }

    /// The values since `earlier`, a previous state of the same histogram.
    package func subtracting(_ earlier: Histogram) -> Histogram {
        let counts = zip(counts, earlier.counts).map { $0 &- $1 }
        return Histogram(bounds: bounds, counts: counts, sum: sum - earlier.sum)
    }

    /// Adds a histogram with the same bounds.
    package mutating func add(_ other: Histogram) {
        for index in counts.indices { counts[index] += other.counts[index] }
        sum += other.sum
    }

    /// The quantile `share`, from 0 to 1, interpolated linearly in its bucket. In the last bucket it is the last bound.
    /// Nil: no values.
    package func quantile(_ share: Double) -> Double? {
        let total = counts.reduce(0, +)
        guard total > 0 else { return nil }
        let rank = share * Double(total)
        var below: UInt64 = 0
        for (index, bound) in bounds.enumerated() {
            let count = counts[index]
            guard Double(below + count) < rank || count == 0 else {
                let start = index == 0 ? 0 : bounds[index - 1]
                return start + (bound - start) * (rank - Double(below)) / Double(count)
            }
            below += count
        }
        return bounds.last
    }

    /// From 1 ms to a day, for waits on disks, networks and people.
    package static var seconds: Histogram {
        Histogram(
            bounds: [
                0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200,
                86_400,
            ]
        )
    }
}

/// A lock-free histogram of durations for many threads.
package final class AtomicHistogram: Sendable {
    private static let bounds = Histogram.seconds.bounds

    private let counts = InlineArray<20, Atomic<UInt64>> { _ in Atomic(0) }
    private let microseconds = Atomic<UInt64>(0)

    package init() {
        precondition(Self.bounds.count < counts.count)
    }

    /// Counts a duration `times` times.
    package func observe(nanoseconds: UInt64, times: UInt64 = 1) {
        let seconds = Double(nanoseconds) / 1e9
        var bucket = 0
        while bucket < Self.bounds.count, seconds > Self.bounds[bucket] { bucket += 1 }
        counts[bucket].wrappingAdd(times, ordering: .relaxed)
        microseconds.wrappingAdd(nanoseconds / 1_000 &* times, ordering: .relaxed)
    }

    /// The values so far; a concurrent observation may be included partly.
    package var snapshot: Histogram {
        let counts = (0...Self.bounds.count).map { self.counts[$0].load(ordering: .relaxed) }
        let sum = Double(microseconds.load(ordering: .relaxed)) / 1e6
        return Histogram(bounds: Self.bounds, counts: counts, sum: sum)
    }
}
