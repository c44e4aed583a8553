/// One metric with all its samples, as a scrape sees it (Prometheus text format 0.0.4).
package struct MetricFamily: Sendable, Equatable {
    package enum Kind: String, Sendable {
        case counter, gauge, histogram
    }

    /// Letters, digits and `_`, with the base unit, and `_total` at the end of a counter's.
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
