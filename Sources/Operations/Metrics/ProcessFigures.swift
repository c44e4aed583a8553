import Console
import Glibc

/// What the process takes of the machine (the names that Prometheus' own libraries use).
struct ProcessFigures: Equatable {
    var cpuSeconds = 0.0
    var residentBytes: Int64 = 0
    var virtualBytes: Int64 = 0
    var openFiles = 0
    var mostFiles = 0
    /// Seconds since 1970.
    var startedAt = 0.0

    private static let ownStart = startedAt(stat: text(of: "/proc/self/stat"), bootedAt: bootedAt)

    private static var bootedAt: Double {
        var (now, up) = (timespec(), timespec())
        clock_gettime(CLOCK_REALTIME, &now)
        clock_gettime(CLOCK_BOOTTIME, &up)
        return Double(now.tv_sec - up.tv_sec) + Double(now.tv_nsec - up.tv_nsec) / 1e9
    }

    /// Of this process, now.
    static var current: ProcessFigures {
        var figures = ProcessFigures()
        var usage = rusage()
        if getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0 {
            figures.cpuSeconds = seconds(usage.ru_utime) + seconds(usage.ru_stime)
        }
        let page = Int64(sysconf(Int32(_SC_PAGESIZE)))
        let pages = text(of: "/proc/self/statm").split(separator: " ").compactMap { Int64($0) }
        if pages.count > 1 { (figures.virtualBytes, figures.residentBytes) = (pages[0] * page, pages[1] * page) }
        figures.openFiles = entries(of: "/proc/self/fd")
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            figures.mostFiles = Int(clamping: limit.rlim_cur)
        }
        figures.startedAt = ownStart
        return figures
    }

    /// `stat` is a process's, with its start in ticks after the system's, which was at `bootedAt`. 0 where it cannot be
    /// read.
    static func startedAt(stat: String, bootedAt: Double) -> Double {
        // The name of the program may hold blanks and parentheses; the start is the twentieth field behind it.
        guard let name = stat.lastIndex(of: ")") else { return 0 }
        let fields = stat[name...].dropFirst().split(separator: " ")
        guard fields.count > 19, let ticks = Double(fields[19]) else { return 0 }
        return bootedAt + ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }

    var families: [MetricFamily] {
        func family(_ name: String, _ kind: MetricFamily.Kind, _ help: String, _ value: Double) -> MetricFamily {
            var family = MetricFamily("process_" + name, kind, help)
            family.add(value)
            return family
        }
        return [
            family("cpu_seconds_total", .counter, "User and system CPU time spent in seconds.", cpuSeconds),
            family("resident_memory_bytes", .gauge, "Resident memory size in bytes.", Double(residentBytes)),
            family("virtual_memory_bytes", .gauge, "Virtual memory size in bytes.", Double(virtualBytes)),
            family("open_fds", .gauge, "Number of open file descriptors.", Double(openFiles)),
            family("max_fds", .gauge, "Maximum number of open file descriptors.", Double(mostFiles)),
            family("start_time_seconds", .gauge, "Start time of the process since unix epoch in seconds.", startedAt),
        ]
    }

    private static func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }

    private static func text(of path: String) -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 4_096)
        var count = 0
        while count < bytes.count {
            let read = bytes.withUnsafeMutableBytes {
                Glibc.read(file, $0.baseAddress?.advanced(by: count), $0.count - count)
            }
            guard read > 0 else { break }
            count += read
        }
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }

    private static func entries(of folder: String) -> Int {
        guard let listing = opendir(folder) else { return 0 }
        defer { closedir(listing) }
        var count = 0
        while let entry = readdir(listing) {
            if entry.pointee.d_name.0 != CChar(UInt8(ascii: ".")) { count += 1 }
        }
        // One is the listing's own.
        return max(0, count - 1)
    }
}
