import CarillonABI
import Glibc
import PluginIsolation
import PluginProtocol
import Synchronization

/// One plugin's instance, and a host that answers its requests.
///
/// Unchecked: what one thread sets up, the others only read; the rest is under the lock.
final class Load: @unchecked Sendable {
    private struct Shared: Sendable {
        var answers: [(due: Int, done: Done)] = []
        var started: [UInt64: Int] = [:]
        var durations: [Int] = []
    }

    private struct Done: @unchecked Sendable {
        let function: carillon_http_done
        let context: UnsafeMutableRawPointer?
    }

    private static let answerTime = 20_000
    private let shared = Mutex(Shared())
    private var host = UnsafeMutablePointer<carillon_host>.allocate(capacity: 1)
    private var instance: UnsafeMutableRawPointer?
    private var deliver:
        (
            (
                UnsafeMutableRawPointer?, UInt64, UnsafePointer<carillon_registration>?,
                UnsafePointer<carillon_notification>?
            ) -> carillon_status
        )?
    private var last: UInt64 = 0
    /// Deliveries that were not accepted.
    private(set) var refused = 0

    init() {
        host.initialize(
            to: carillon_host(
                struct_size: UInt32(MemoryLayout<carillon_host>.size),
                abi_minor: UInt32(CARILLON_ABI_MINOR),
                host_data: nil,
                log: { _, _, _ in },
                complete: { host, ticket, _ in Load.at(host)?.end(ticket) },
                http_request: { host, _, done, context in
                    guard let load = Load.at(host), let done else { return .CARILLON_INVALID }
                    return load.send(Done(function: done, context: context))
                },
                query: { _, _ in nil }
            )
        )
        host.pointee.host_data = Unmanaged.passUnretained(self).toOpaque()
    }

    private static func at(_ host: UnsafePointer<carillon_host>?) -> Load? {
        host?.pointee.host_data.map { Unmanaged<Load>.fromOpaque($0).takeUnretainedValue() }
    }

    var durations: [Int] {
        get { shared.withLock(\.durations) }
        set { shared.withLock { $0.durations = newValue } }
    }

    func createIsolated(_ plugin: IsolatedPlugin) {
        create { plugin.create(.transport, at: 0, $0, $1, $2, $3) }
        deliver = { IsolatedInstance.deliver($0, $1, $2, $3) }
    }

    /// What the library at `path` offers in this process.
    static func plugin(_ path: String) -> UnsafePointer<carillon_plugin>? {
        typealias Entry = @convention(c) () -> UnsafePointer<carillon_plugin>?
        guard let library = dlopen(path, RTLD_NOW), let symbol = dlsym(library, "carillon_plugin_entry_v1") else {
            return nil
        }
        return unsafeBitCast(symbol, to: Entry.self)()
    }

    func createHere(_ path: String) {
        guard let transport = Self.plugin(path)?.pointee.transports[0]?.pointee,
            let create = transport.create, let deliver = transport.deliver
        else { preconditionFailure("no plugin") }
        self.create { create($0, $1, $2, $3) }
        self.deliver = { deliver($0, $1, $2, $3) }
    }

    /// Has a plugin make an instance that this is the host of, for ever.
    @discardableResult
    func create(
        _ function: (
            UnsafePointer<carillon_host>?, carillon_str, UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
            UnsafeMutablePointer<carillon_error>?
        ) -> carillon_status
    ) -> UnsafeMutableRawPointer? {
        var error = carillon_error()
        var configuration = #"{"do":"request"}"#
        let status = configuration.withUTF8 { text in
            function(host, carillon_str(ptr: UnsafeRawPointer(text.baseAddress), len: text.count), &instance, &error)
        }
        precondition(status == .CARILLON_OK)
        _ = Unmanaged.passRetained(self)
        return instance
    }

    /// Delivers `rate` a second at random, and waits for the last to end.
    func run(rate: Double, seconds: Double) {
        let end = Self.now() + Int(seconds * 1e6)
        var next = Self.now()
        while next < end {
            while next <= Self.now() {
                begin()
                next += Int(-log(Double.random(in: 1e-9..<1)) / rate * 1e6)
            }
            answer()
            let pause = min(next, shared.withLock { $0.answers.first?.due } ?? next) - Self.now()
            // A request may come meanwhile: its answer is due later than this.
            if pause > 0 { usleep(UInt32(min(pause, Self.answerTime / 2))) }
        }
        while shared.withLock({ !$0.started.isEmpty }) {
            answer()
            usleep(100)
        }
    }

    private func begin() {
        last += 1
        let ticket = last
        shared.withLock { $0.started[ticket] = Self.now() }
        let text: StaticString = """
            bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\
            bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb\
            bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
            """
        let url: StaticString = "https://push.example.com/3/device/00fc13adff785122b4ad28809a342098"
        var registration = carillon_registration()
        registration.struct_size = UInt32(MemoryLayout<carillon_registration>.size)
        registration.token = carillon_str(ptr: UnsafeRawPointer(url.utf8Start), len: url.utf8CodeUnitCount)
        var notification = carillon_notification()
        notification.struct_size = UInt32(MemoryLayout<carillon_notification>.size)
        notification.body = carillon_str(ptr: UnsafeRawPointer(text.utf8Start), len: text.utf8CodeUnitCount)
        guard deliver?(instance, ticket, &registration, &notification) == .CARILLON_OK else {
            refused += 1
            return shared.withLock { $0.started[ticket] = nil }
        }
    }

    private func send(_ done: Done) -> carillon_status {
        shared.withLock { $0.answers.append((Self.now() + Self.answerTime, done)) }
        return .CARILLON_OK
    }

    private func answer() {
        let now = Self.now()
        let due = shared.withLock { shared in
            let count = shared.answers.prefix { $0.due <= now }.count
            defer { shared.answers.removeFirst(count) }
            return Array(shared.answers.prefix(count))
        }
        var response = carillon_http_response()
        response.struct_size = UInt32(MemoryLayout<carillon_http_response>.size)
        response.status = 200
        for answer in due { answer.done.function(answer.done.context, &response) }
    }

    private func end(_ ticket: UInt64) {
        let now = Self.now()
        shared.withLock { shared in
            if let start = shared.started.removeValue(forKey: ticket) {
                shared.durations.append(now - start - Self.answerTime)
            }
        }
    }

    /// Microseconds.
    private static func now() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int(time.tv_sec) * 1_000_000 + Int(time.tv_nsec) / 1_000
    }
}
