import CarillonABI
import Core
import Dispatch
import PluginHost
import PluginProtocol
import Synchronization

/// Timers and state of an instance on one host, with a real clock and memory that ends with the host.
final class CheckServices: Sendable {
    /// A timer's callback.
    ///
    /// Unchecked: the pointer belongs to the plugin and is never dereferenced here.
    private struct Call: @unchecked Sendable {
        let fired: carillon_timer_fired
        let context: UnsafeMutableRawPointer?
    }

    private struct State {
        var timers = TimerTable<Call>()
        var values: StateValues
        var isEnded = false
    }

    private static let instance: UInt64 = 1

    private let queue = DispatchQueue(label: "carillon.check.timers")
    private let state: Mutex<State>

    /// `kept` is the state from an earlier instance.
    init(_ kept: [StateEntry]) { state = Mutex(State(values: StateValues(kept))) }

    // MARK: Timers

    /// `start` of the service `carillon.timer/1`.
    func start(
        _ after: UInt64,
        _ every: UInt64,
        _ fired: @escaping carillon_timer_fired,
        _ context: UnsafeMutableRawPointer?,
        _ timer: UnsafeMutablePointer<UInt64>
    ) -> carillon_status {
        let call = Call(fired: fired, context: context)
        let start = state.withLock { state -> TimerTable<Call>.Start? in
            guard !state.isEnded else { return nil }
            let start = state.timers.start(of: Self.instance, after: after, every: every, now: .now(), call)
            // Before it can fire.
            if case .started(let number) = start { timer.pointee = number }
            return start
        }
        switch start {
        case .invalid: return .CARILLON_INVALID
        case .full, nil: return .CARILLON_BUSY
        case .started:
            fireLater()
            return .CARILLON_OK
        }
    }

    /// `cancel` of the service `carillon.timer/1`.
    func cancel(_ timer: UInt64) -> carillon_status {
        switch state.withLock({ $0.timers.cancel(timer, of: Self.instance) }) {
        case .ended: .CARILLON_OK
        case .underWay: .CARILLON_BUSY
        case .unknown: .CARILLON_INVALID
        }
    }

    private func fireLater() {
        guard let due = state.withLock(\.timers.nextDue) else { return }
        let wait = max(0, (due - .now()).milliseconds)
        queue.asyncAfter(deadline: .now() + .milliseconds(Int(clamping: wait))) { [weak self] in self?.fire() }
    }

    private func fire() {
        let now = Deadline.now()
        while let firing = state.withLock({ $0.timers.takeDue(now: now) }) {
            firing.payload.fired(firing.payload.context)
            state.withLock { $0.timers.end(firing.timer, now: .now()) }
        }
        fireLater()
    }

    /// Stops all timers, and returns when no timer call is in progress.
    func endTimers() {
        state.withLock { state in
            state.isEnded = true
            state.timers.removeAll(of: Self.instance)
        }
        queue.sync {}
    }

    // MARK: State

    /// The whole stored state.
    var kept: [StateEntry] { state.withLock(\.values.entries) }

    /// Nil: no value under that key.
    func value(of key: [UInt8]) -> [UInt8]? { state.withLock { $0.values[key] } }

    /// False: above a limit.
    func set(_ entry: StateEntry) -> Bool { state.withLock { $0.values.set(entry) } }
}

extension CheckHost {
    /// `start` of the service `carillon.timer/1`.
    func startTimer(
        _ after: UInt64,
        _ every: UInt64,
        _ fired: carillon_timer_fired?,
        _ context: UnsafeMutableRawPointer?,
        _ timer: UnsafeMutablePointer<UInt64>?
    ) -> carillon_status {
        guard let fired, let timer else {
            note { $0.serviceFlaw("it starts a timer with NULL for the function or for the timer's number") }
            return .CARILLON_INVALID
        }
        let status = services.start(after, every, fired, context, timer)
        note { log in
            log.startsTimer()
            if status == .CARILLON_INVALID {
                log.serviceFlaw(
                    "it starts a timer beyond the limits: both times are at most 366 days, and every_ms is 0 or at "
                        + "least 10"
                )
            }
        }
        return status
    }

    /// `get` of the service `carillon.state/1`.
    func borrowState(
        _ key: carillon_str,
        _ value: carillon_value?,
        _ context: UnsafeMutableRawPointer?
    ) -> carillon_status {
        guard let value, let key = stateKey(key) else { return .CARILLON_INVALID }
        note { $0.usesState(key) }
        guard let kept = services.value(of: key) else { return .CARILLON_INVALID }
        borrow(kept, to: value, context)
        return .CARILLON_OK
    }

    /// `set` of the service `carillon.state/1`.
    func keepState(_ key: carillon_str, _ value: carillon_bytes) -> carillon_status {
        guard let key = stateKey(key) else { return .CARILLON_INVALID }
        note { $0.usesState(key) }
        guard let value = RequestForm.bytes(value, limit: StateValues.valueLimit),
            services.set(StateEntry(key: key, value: Array(value)))
        else {
            note {
                $0.serviceFlaw(
                    "it stores more than the limits allow: a value has at most 16 KiB, and there are at most 256 keys and 256 KiB"
                )
            }
            return .CARILLON_INVALID
        }
        return .CARILLON_OK
    }

    private func stateKey(_ key: carillon_str) -> [UInt8]? {
        let bytes = RequestForm.bytes(key, limit: StateValues.keyLimit).map { Array($0) } ?? []
        guard StateEntry(key: bytes, value: []).isWithinLimits else {
            note { $0.serviceFlaw("it uses an invalid key: a key is 1 to 64 printable ASCII bytes") }
            return nil
        }
        return bytes
    }
}

/// A service of the host, and how it passes its functions.
struct CheckedService: Sendable {
    let name: StaticString
    let borrow: @Sendable (Arena) -> UnsafeRawPointer?

    private init<Table: ForeignStruct & SendableMetatype>(
        _ name: StaticString,
        _ table: @escaping @Sendable () -> Table
    ) {
        self.name = name
        borrow = { arena in arena.borrow(table()).map { UnsafeRawPointer($0) } }
    }

    static let all = [
        Self("carillon.client-certificate/1") {
            carillon_client_certificates(struct_size: 0, reserved: 0, present: checkPresent)
        },
        Self("carillon.timer/1") {
            carillon_timers(struct_size: 0, reserved: 0, start: checkStartTimer, cancel: checkCancelTimer)
        },
        Self("carillon.state/1") {
            carillon_states(struct_size: 0, reserved: 0, get: checkGetState, set: checkSetState)
        },
        Self("carillon.inbound/1") { carillon_inbound(struct_size: 0, reserved: 0, url: checkInboundURL) },
        Self("carillon.stream/1") {
            carillon_streams(
                struct_size: 0,
                reserved: 0,
                open: checkStreamOpen,
                write: checkStreamWrite,
                start_tls: checkStreamStartTLS,
                close: checkStreamClose
            )
        },
    ]
}

// Functions, not closures: a closure written in an isolated context traps when a plugin calls it from another thread.

private func checkStartTimer(
    _ host: UnsafePointer<carillon_host>?,
    _ after: UInt64,
    _ every: UInt64,
    _ fired: carillon_timer_fired?,
    _ context: UnsafeMutableRawPointer?,
    _ timer: UnsafeMutablePointer<UInt64>?
) -> carillon_status {
    checkHost(of: host)?.startTimer(after, every, fired, context, timer) ?? .CARILLON_INVALID
}

private func checkCancelTimer(_ host: UnsafePointer<carillon_host>?, _ timer: UInt64) -> carillon_status {
    guard let host = checkHost(of: host) else { return .CARILLON_INVALID }
    host.note { $0.cancelsTimer() }
    return host.services.cancel(timer)
}

private func checkGetState(
    _ host: UnsafePointer<carillon_host>?,
    _ key: carillon_str,
    _ value: carillon_value?,
    _ context: UnsafeMutableRawPointer?
) -> carillon_status {
    checkHost(of: host)?.borrowState(key, value, context) ?? .CARILLON_INVALID
}

private func checkSetState(
    _ host: UnsafePointer<carillon_host>?,
    _ key: carillon_str,
    _ value: carillon_bytes
) -> carillon_status {
    checkHost(of: host)?.keepState(key, value) ?? .CARILLON_INVALID
}

/// The streams of a plugin under check, which connect to no server. Each ends with the failure that a request would get
/// at that moment, or with `unreachable`.
final class CheckStreams: Sendable {
    /// Unchecked: the context belongs to the plugin and is never dereferenced here.
    private struct Stream: @unchecked Sendable {
        let events: carillon_stream_events
        let context: UnsafeMutableRawPointer?
        var isClosing = false
    }

    private struct State {
        var last: UInt64 = 0
        var open: [UInt64: Stream] = [:]
        var isEnding = false
    }

    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "carillon.check-streams")
    /// Calls into plugins that are in progress or about to start.
    private let calls = DispatchGroup()

    /// The number of all streams up to now.
    var count: Int { Int(clamping: state.withLock(\.last)) }

    /// `failure`: how it ends; nil: only with ``end(_:)``.
    func open(
        _ target: UnsafePointer<carillon_stream_target>?,
        _ events: UnsafePointer<carillon_stream_events>?,
        _ context: UnsafeMutableRawPointer?,
        _ number: UnsafeMutablePointer<UInt64>?,
        failure: String?
    ) throws(FormError) -> carillon_status {
        guard let number else { throw FormError("stream is NULL") }
        _ = try StreamForm.checked(target)
        let stream = Stream(events: try StreamForm.checked(events), context: context)
        let own = state.withLock { state -> UInt64? in
            guard !state.isEnding, state.open.count < StreamForm.streamLimit else { return nil }
            state.last += 1
            state.open[state.last] = stream
            return state.last
        }
        guard let own else { return .CARILLON_BUSY }
        number.pointee = own
        if let failure { end(own, failure) }
        return .CARILLON_OK
    }

    /// Records a use of a stream; INVALID: it does not exist, or is closed.
    func use(_ number: UInt64, isLast: Bool = false) -> carillon_status {
        let isOpen = state.withLock { state in
            guard let stream = state.open[number], !stream.isClosing else { return false }
            state.open[number]?.isClosing = isLast
            return true
        }
        if isOpen, isLast { end(number, "") }
        return isOpen ? .CARILLON_OK : .CARILLON_INVALID
    }

    /// Ends all streams with `failure`.
    func end(_ failure: String) {
        for number in state.withLock({ Array($0.open.keys) }) { end(number, failure) }
    }

    /// Ends all streams, as when an instance is shut down, and refuses new ones.
    func shutDown() {
        state.withLock { $0.isEnding = true }
        end("shut-down")
        calls.wait()
    }

    private func end(_ number: UInt64, _ failure: String) {
        calls.enter()
        queue.async { [self] in
            defer { calls.leave() }
            guard let stream = state.withLock({ $0.open.removeValue(forKey: number) }) else { return }
            var failure = failure
            failure.withUTF8 { text in
                stream.events.closed?(
                    stream.context,
                    carillon_str(ptr: UnsafeRawPointer(text.baseAddress), len: text.count)
                )
            }
        }
    }
}

// Functions, not closures: a closure written in an isolated context traps when a plugin calls it from another thread.

private func checkStreamOpen(
    _ host: UnsafePointer<carillon_host>?,
    _ target: UnsafePointer<carillon_stream_target>?,
    _ events: UnsafePointer<carillon_stream_events>?,
    _ context: UnsafeMutableRawPointer?,
    _ number: UnsafeMutablePointer<UInt64>?
) -> carillon_status {
    checkHost(of: host)?.openStream(target, events, context, number) ?? .CARILLON_INVALID
}

private func checkStreamWrite(
    _ host: UnsafePointer<carillon_host>?,
    _ number: UInt64,
    _ bytes: carillon_bytes
) -> carillon_status {
    checkHost(of: host)?.writeStream(number, bytes) ?? .CARILLON_INVALID
}

private func checkStreamStartTLS(_ host: UnsafePointer<carillon_host>?, _ number: UInt64) -> carillon_status {
    checkHost(of: host)?.streams.use(number) ?? .CARILLON_INVALID
}

private func checkStreamClose(_ host: UnsafePointer<carillon_host>?, _ number: UInt64) -> carillon_status {
    checkHost(of: host)?.streams.use(number, isLast: true) ?? .CARILLON_INVALID
}
