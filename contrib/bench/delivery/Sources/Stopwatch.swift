import Glibc

/// Time on the wall: disks and other threads count.
enum Stopwatch {
    /// Things a second when `body` does `count` of them.
    static func rate(of count: Int, _ body: () throws -> Void) rethrows -> Double {
        Double(count) / seconds(try ContinuousClock().measure(body))
    }

    /// Microseconds of processor that this process has used, on all its threads.
    static var processor: Double {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        return [usage.ru_utime, usage.ru_stime].reduce(0) { $0 + Double($1.tv_sec) * 1e6 + Double($1.tv_usec) }
    }

    static func seconds(_ duration: Duration) -> Double { duration / .seconds(1) }
}
