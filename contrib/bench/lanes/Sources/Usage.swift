import Glibc

/// What this process has used.
struct Usage {
    let seconds: Double
    let cpuSeconds: Double
    let largestResidentKiB: Int

    static var now: Usage {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Usage(
            seconds: Double(time.tv_sec) + Double(time.tv_nsec) / 1e9,
            cpuSeconds: seconds(usage.ru_utime) + seconds(usage.ru_stime),
            largestResidentKiB: usage.ru_maxrss
        )
    }

    func since(_ earlier: Usage) -> Usage {
        Usage(
            seconds: seconds - earlier.seconds,
            cpuSeconds: cpuSeconds - earlier.cpuSeconds,
            largestResidentKiB: largestResidentKiB
        )
    }

    private static func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
}
