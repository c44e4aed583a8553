extension Int64 {
    /// Makes of a moment the same by a clock that was put back by `step`; `.min`, which stands for long ago, stays that.
    mutating func setBack(by step: Int64) {
        let (moment, overflow) = subtractingReportingOverflow(step)
        self = overflow ? .min : moment
    }
}
