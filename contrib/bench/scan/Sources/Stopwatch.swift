import Glibc

/// Processor time of this thread, so that neighbours on the machine count for little.
enum Stopwatch {
    /// Returns the run time of `body` in nanoseconds.
    static func nanoseconds(_ body: () throws -> Void) rethrows -> Double {
        let start = now()
        try body()
        return now() - start
    }

    /// The median of several measurements, each divided by `count`.
    static func median(of rounds: Int, per count: Int, _ body: () throws -> Void) rethrows -> Double {
        var times: [Double] = []
        for _ in 0..<rounds { times.append(try nanoseconds(body)) }
        return times.sorted()[rounds / 2] / Double(count)
    }

    private static func now() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
    }
}
