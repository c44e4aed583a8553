/// How long each step of stopping may take, so that all of them end in time. Knows no clock: times are milliseconds.
struct StoppingTime {
    private let total: Int64
    private let end: Int64

    init(seconds: Int, now: Int64) {
        total = Int64(seconds) * 1_000
        end = now + total
    }

    /// What is left. A clock that jumps back gives no more than there was.
    func left(now: Int64) -> Int64 { min(total, max(0, end - now)) }

    /// For a step that should take no more than `percent` of everything.
    func part(_ percent: Int64, now: Int64) -> Int64 { min(left(now: now), total * percent / 100) }

    /// What is left but for `percent` of everything, which later steps are to have.
    func allBut(_ percent: Int64, now: Int64) -> Int64 { max(0, left(now: now) - total * percent / 100) }
}
