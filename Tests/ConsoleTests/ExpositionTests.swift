import Testing

@testable import Console

@Suite struct ExpositionTests {
    @Test func writesFamiliesWithHelpTypeAndEscapedLabels() {
        var counter = MetricFamily("carillon_events_total", .counter, "Events by step,\nwith \\ in it.")
        counter.add(3, ["step": "a\"b\\c\nd"])
        counter.add(12_345_678_901)
        var gauge = MetricFamily("carillon_ratio", .gauge, "A ratio.")
        gauge.add(0.25)
        gauge.add(Double.infinity, ["of": "all"])
        let empty = MetricFamily("carillon_nothing", .gauge, "Nothing.")
        #expect(
            Exposition.text(of: [counter, empty, gauge]) == #"""
                # HELP carillon_events_total Events by step,\nwith \\ in it.
                # TYPE carillon_events_total counter
                carillon_events_total{step="a\"b\\c\nd"} 3
                carillon_events_total 12345678901
                # HELP carillon_ratio A ratio.
                # TYPE carillon_ratio gauge
                carillon_ratio 0.25
                carillon_ratio{of="all"} +Inf

                """#
        )
    }

    @Test func histogramsAreCumulativeAndEndWithEverything() {
        var histogram = Histogram(bounds: [0.1, 1])
        histogram.observe(0.1)
        histogram.observe(0.5, times: 2)
        histogram.observe(7)
        histogram.observe(-3)
        var family = MetricFamily("carillon_wait_seconds", .histogram, "Waits.")
        family.add(histogram, ["platform": "ios"])
        #expect(
            Exposition.text(of: [family]) == """
                # HELP carillon_wait_seconds Waits.
                # TYPE carillon_wait_seconds histogram
                carillon_wait_seconds_bucket{platform="ios",le="0.1"} 2
                carillon_wait_seconds_bucket{platform="ios",le="1"} 4
                carillon_wait_seconds_bucket{platform="ios",le="+Inf"} 5
                carillon_wait_seconds_sum{platform="ios"} 8.1
                carillon_wait_seconds_count{platform="ios"} 5

                """
        )
    }
}
