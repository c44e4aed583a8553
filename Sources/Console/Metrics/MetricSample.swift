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
