import Console
import Delivery
import Glibc
import HTTPClient
import Pipeline
import PluginHost
import Relays

extension MetricFamily {
    /// A gauge without labels.
    static func gauge(_ name: String, _ help: String, _ value: some BinaryInteger) -> MetricFamily {
        gauge(name, help, of: [value]) { $0.add($1) }
    }

    /// A gauge to which each of `parts` adds its samples.
    static func gauge<Parts: Sequence>(
        _ name: String,
        _ help: String,
        of parts: Parts,
        _ add: (inout MetricFamily, Parts.Element) -> Void
    ) -> MetricFamily {
        parts.reduce(into: MetricFamily(name, .gauge, help), add)
    }

    /// A counter to which each of `parts` adds its samples.
    static func counter<Parts: Sequence>(
        _ name: String,
        _ help: String,
        of parts: Parts,
        _ add: (inout MetricFamily, Parts.Element) -> Void
    ) -> MetricFamily {
        parts.reduce(into: MetricFamily(name, .counter, help), add)
    }
}

extension QueueName {
    /// The labels of the queue's metrics.
    var labels: KeyValuePairs<String, String> { ["platform": platform, "app": app] }

    static func < (left: QueueName, right: QueueName) -> Bool {
        (left.platform, left.app) < (right.platform, right.app)
    }
}

/// Metrics of the parts at one moment.
extension MetricFamily {
    static func queues(_ queues: [QueueStatus]) -> [MetricFamily] {
        let queues = queues.sorted { $0.queue < $1.queue }
        func gauge(_ name: String, _ help: String, _ value: (QueueStatus) -> Int) -> MetricFamily {
            Self.gauge(name, help, of: queues) { $0.add(value($1), $1.queue.labels) }
        }
        let paused = Self.gauge(
            "carillon_queue_paused",
            "Whether the queue is paused, by cause.",
            of: queues
        ) { family, status in
            for cause in QueuePause.Cause.allCases {
                family.add(
                    status.pause?.cause == cause ? 1 : 0,
                    ["platform": status.queue.platform, "app": status.queue.app, "cause": "\(cause)"]
                )
            }
        }
        return [
            gauge("carillon_queue_waiting", "Deliveries not yet completed, in memory or on disk.") {
                $0.waiting
            },
            gauge(
                "carillon_queue_waiting_limit",
                "Maximum of waiting deliveries before more are combined into batches."
            ) { $0.share },
            gauge("carillon_queue_deliveries", "Deliveries in memory; more may wait on disk.") { $0.inMemory },
            gauge("carillon_queue_in_flight", "Attempts in flight.") { $0.inFlight },
            gauge("carillon_queue_retrying", "Deliveries in memory that wait for a retry.") { $0.waitingForRetry },
            paused,
            gauge("carillon_queue_paused_hosts", "Paused hosts of users' endpoints.") { $0.pausedHosts },
        ]
    }

    static func relays(_ relays: [RelayStatus]) -> MetricFamily {
        gauge(
            "carillon_relay_connections",
            "Relays by owner and state.",
            of: [("operator", true), ("users", false)]
        ) { family, owner in
            let own = relays.filter { $0.isOperators == owner.1 }
            for state in ["connected", "connecting", "waiting", "idle"] {
                family.add(own.count { $0.state.word == state }, ["whose": owner.0, "state": state])
            }
        }
    }

    static func behavior(_ book: RelayViolationTable) -> [MetricFamily] {
        [
            counter(
                "carillon_relay_violations_total",
                "Violations by relays; all relays of users are counted as users.",
                of: book.violations.sorted { ($0.key?.text ?? "") < ($1.key?.text ?? "") }
            ) { family, relay in
                for violation in RelayViolation.allCases {
                    family.add(
                        relay.value[violation] ?? 0,
                        ["relay": relay.key?.text ?? "users", "what": violation.rawValue]
                    )
                }
            },
            gauge(
                "carillon_relays_misbehaving",
                "Relays that misbehaved repeatedly in the last hour.",
                book.misbehaving.count
            ),
        ]
    }

    static func lanes(_ lanes: HTTPSnapshot) -> [MetricFamily] {
        let all = lanes.origins.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } + [("users", lanes.users)]
        return [
            gauge(
                "carillon_http2_connections",
                "HTTP/2 connections by origin; all origins of users are counted as users.",
                of: all
            ) {
                $0.add($1.1.connections, ["origin": $1.0, "state": "open"])
                $0.add($1.1.connecting, ["origin": $1.0, "state": "opening"])
            },
            gauge("carillon_http2_streams", "Requests in flight on HTTP/2 connections.", of: all) {
                $0.add($1.1.streams, ["origin": $1.0])
            },
            gauge("carillon_http2_waiting_requests", "Requests that wait for an HTTP/2 stream.", of: all) {
                $0.add($1.1.waiting, ["origin": $1.0])
            },
            gauge("carillon_curl_requests", "Requests in flight or waiting in libcurl.", lanes.otherRequests),
        ]
    }

    static func requests(_ requests: [QueueName: RequestCounts]) -> [MetricFamily] {
        let all = requests.sorted { $0.key < $1.key }
        return [
            counter("carillon_transport_requests_total", "HTTP requests that transports made.", of: all) {
                $0.add($1.value.begun, $1.key.labels)
            },
            counter("carillon_transport_answers_total", "Responses to transports' HTTP requests.", of: all) {
                $0.add($1.value.answered, $1.key.labels)
            },
            counter("carillon_transport_failures_total", "Failed HTTP requests of transports, by reason.", of: all) {
                $0.add(failures: $1.value.failures, of: $1.key)
            },
            counter(
                "carillon_transport_inbound_requests_total",
                "Requests from outside to transports, by response class (200, 400, …).",
                of: all
            ) { family, queue in
                let (platform, app) = (queue.key.platform, queue.key.app)
                for (hundreds, count) in queue.value.inbound.sorted(by: { $0.key < $1.key }) {
                    family.add(count, ["platform": platform, "app": app, "status": "\(hundreds)xx"])
                }
            },
        ]
    }

    static func streams(_ streams: [QueueName: StreamCounts]) -> [MetricFamily] {
        let used = streams.sorted { $0.key < $1.key }.filter { $0.value.begun > 0 }
        return [
            gauge("carillon_transport_open_streams", "Streams of transports that are open.", of: used) {
                $0.add($1.value.open, $1.key.labels)
            },
            counter("carillon_transport_streams_total", "Streams that transports opened.", of: used) {
                $0.add($1.value.begun, $1.key.labels)
            },
            counter(
                "carillon_transport_stream_failures_total",
                "Streams that failed, by reason.",
                of: used
            ) { $0.add(failures: $1.value.failures, of: $1.key) },
        ]
    }

    private mutating func add<Reason: RawRepresentable<String>>(
        failures: [Reason: UInt64],
        of queue: QueueName
    ) {
        for (reason, count) in failures.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            add(count, ["platform": queue.platform, "app": queue.app, "reason": reason.rawValue])
        }
    }

    static func plugins(_ statistics: [QueueName: TransportStatistics]) -> MetricFamily {
        counter(
            "carillon_plugin_abi_violations_total",
            "Plugins' contract violations and timeouts since the transport started.",
            of: statistics.sorted { $0.key < $1.key }
        ) { family, transport in
            let (queue, statistics) = (transport.key, transport.value)
            let all = [
                ("unknown-ticket", statistics.unknownTickets), ("malformed-outcome", statistics.malformedOutcomes),
                ("malformed-request", statistics.malformedRequests), ("malformed-stream", statistics.malformedStreams),
                ("deadline-missed", statistics.deadlinesMissed), ("late-completion", statistics.lateCompletions),
                ("malformed-answer", statistics.malformedAnswers),
            ]
            for (what, count) in all {
                family.add(count, ["platform": queue.platform, "app": queue.app, "what": what])
            }
        }
    }
}

/// The process's resource usage, under the names of the standard Prometheus process metrics.
struct ProcessFigures: Equatable {
    var cpuSeconds = 0.0
    var residentBytes: Int64 = 0
    var virtualBytes: Int64 = 0
    var openFiles = 0
    var maxFiles = 0
    /// Seconds since 1970.
    var startedAt = 0.0

    private static let ownStart = startedAt(stat: text(of: "/proc/self/stat"), bootedAt: bootedAt)

    private static var bootedAt: Double {
        var (now, up) = (timespec(), timespec())
        clock_gettime(CLOCK_REALTIME, &now)
        clock_gettime(CLOCK_BOOTTIME, &up)
        return Double(now.tv_sec - up.tv_sec) + Double(now.tv_nsec - up.tv_nsec) / 1e9
    }

    /// The figures of this process.
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
            figures.maxFiles = Int(clamping: limit.rlim_cur)
        }
        figures.startedAt = ownStart
        return figures
    }

    /// Returns a process's start time from its `stat` line, which counts ticks since boot at `bootedAt`; 0 if
    /// unreadable.
    static func startedAt(stat: String, bootedAt: Double) -> Double {
        // The program's name may contain blanks and parentheses. The start time is the 20th field after it.
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
            family("max_fds", .gauge, "Maximum number of open file descriptors.", Double(maxFiles)),
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
        // Opening the directory takes one descriptor itself.
        return max(0, count - 1)
    }
}
