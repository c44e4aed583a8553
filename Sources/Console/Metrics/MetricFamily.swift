/// One metric with all its samples, as a scrape sees it (Prometheus text format 0.0.4).
///
/// Label values are bounded in number: words of ours, names in the configuration, and only so many words of plugins.
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

    /// The same with a further label in front of each sample's.
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

/// One line of a metric.
package struct MetricSample: Sendable, Equatable {
    /// What follows the metric's name.
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

/// Metrics as Prometheus reads them (text format 0.0.4).
package enum Exposition {
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// Metrics without a sample are left out.
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
