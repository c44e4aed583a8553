import Glibc

/// A moment by a clock nobody can set, as the system's calls want it.
struct MonotonicTime: Sendable {
    let time: timespec

    /// In so many milliseconds.
    init(in milliseconds: Int64) {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        let wait = max(0, milliseconds)
        let nanoseconds = Int64(time.tv_nsec) + wait % 1_000 * 1_000_000
        let seconds = Int64(time.tv_sec) + wait / 1_000 + nanoseconds / 1_000_000_000
        self.time = timespec(tv_sec: Int(seconds), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }
}
