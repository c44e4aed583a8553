import CarillonABI
import Core
import Glibc
import PluginHost
import PluginProtocol
import Synchronization

/// One plugin's instance, and a host that answers its requests.
final class Load: Sendable {
    private struct Shared: Sendable {
        var answers: [(due: Int, done: Done)] = []
        var started: [UInt64: Int] = [:]
        var durations: [Int] = []
        var last: UInt64 = 0
        var refused = 0
    }

    typealias Done = @Sendable (WriteResponse) -> Void

    private static let answerTime = 20_000
    private static let url = "https://push.example.com/3/device/00fc13adff785122b4ad28809a342098"
    private static let body = String(repeating: "b", count: 300)

    private let shared = Mutex(Shared())

    var durations: [Int] {
        get { shared.withLock(\.durations) }
        set { shared.withLock { $0.durations = newValue } }
    }

    /// Deliveries that were not accepted.
    var refused: Int { shared.withLock(\.refused) }

    /// Delivers at random times, `rate` per second on average, to `instance`, and waits for the last to end.
    func run(_ instance: IsolatedInstance, rate: Double, seconds: Double) {
        let end = Self.now() + Int(seconds * 1e6)
        var next = Self.now()
        while next < end {
            while next <= Self.now() {
                begin(instance)
                next += Int(-log(Double.random(in: 1e-9..<1)) / rate * 1e6)
            }
            answer()
            let pause = min(next, shared.withLock { $0.answers.first?.due } ?? next) - Self.now()
            // The answer to a request that arrives during the pause is due after the pause.
            if pause > 0 { usleep(UInt32(min(pause, Self.answerTime / 2))) }
        }
        while shared.withLock({ !$0.started.isEmpty }) {
            answer()
            usleep(100)
        }
    }

    private func begin(_ instance: IsolatedInstance) {
        let ticket = shared.withLock { shared in
            shared.last += 1
            shared.started[shared.last] = Self.now()
            return shared.last
        }
        let status = instance.deliver([ticket]) { _, writer in
            var registration = carillon_registration()
            registration.struct_size = UInt32(MemoryLayout<carillon_registration>.size)
            var notification = carillon_notification()
            notification.struct_size = UInt32(MemoryLayout<carillon_notification>.size)
            var (url, body) = (Self.url, Self.body)
            url.withUTF8 { url in
                registration.token = carillon_str(ptr: UnsafeRawPointer(url.baseAddress), len: url.count)
                RegistrationMessage.write(registration, to: &writer)
            }
            body.withUTF8 { body in
                notification.body = carillon_str(ptr: UnsafeRawPointer(body.baseAddress), len: body.count)
                NotificationMessage.write(notification, to: &writer)
            }
        }
        guard status != .CARILLON_OK else { return }
        shared.withLock { shared in
            shared.refused += 1
            shared.started[ticket] = nil
        }
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
        for answer in due { answer.done { ResponseMessage.write(response, to: &$0) } }
    }

    /// Microseconds.
    private static func now() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int(time.tv_sec) * 1_000_000 + Int(time.tv_nsec) / 1_000
    }
}

extension Load: InstanceHost {
    var inboundURL: String? { nil }

    func complete(_ ticket: UInt64, _: carillon_outcome) {
        let now = Self.now()
        shared.withLock { shared in
            if let start = shared.started.removeValue(forKey: ticket) {
                shared.durations.append(now - start - Self.answerTime)
            }
        }
    }

    func send(_: RequestMessage, done: @escaping Done) -> carillon_status {
        shared.withLock { $0.answers.append((Self.now() + Self.answerTime, done)) }
        return .CARILLON_OK
    }

    func logLine(_: carillon_log_level, _: carillon_str) {}
    func note(_: ViolationMessage.Rule, _: String) {}
    func present(_: PresentMessage) -> (status: carillon_status, text: String) { (.CARILLON_UNSUPPORTED, "") }
    func openStream(_: StreamOpenMessage, _: any StreamReceiver) -> StreamOpening { .refused(.CARILLON_UNSUPPORTED) }
    func willRemake() {}
    func openState(_: @escaping StateChange.Listener) -> [StateEntry] { [] }
    func store(_: StateEntry, change _: UInt64) {}
    func refreshState() {}
}
