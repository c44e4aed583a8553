import CarillonABI
import Dispatch
import PluginHost
import PluginProtocol
import PluginServices
import Synchronization
import Units

/// Timers and state of the instance on one host, for a clock that runs as usual and a memory that ends with the host.
final class CheckServices: Sendable {
    /// What a timer calls.
    ///
    /// Unchecked: the pointer is the plugin's own business and never looked into here.
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

    /// `kept` is what an earlier instance has left.
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

    /// No timer fires after this, and no call of one is under way.
    func endTimers() {
        state.withLock { state in
            state.isEnded = true
            state.timers.removeAll(of: Self.instance)
        }
        queue.sync {}
    }

    // MARK: State

    /// All that is kept.
    var kept: [StateEntry] { state.withLock(\.values.entries) }

    /// Nil: nothing is kept under that key.
    func value(of key: [UInt8]) -> [UInt8]? { state.withLock { $0.values[key] } }

    /// False: that would be beyond a limit.
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
            note { $0.serviceFlaw("it starts a timer with NULL instead of a function, or of room for the number") }
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
    func lendState(
        _ key: carillon_str,
        _ value: carillon_value?,
        _ context: UnsafeMutableRawPointer?
    ) -> carillon_status {
        guard let value, let key = stateKey(key) else { return .CARILLON_INVALID }
        note { $0.usesState(key) }
        guard let kept = services.value(of: key) else { return .CARILLON_INVALID }
        lend(kept, to: value, context)
        return .CARILLON_OK
    }

    /// `set` of the service `carillon.state/1`.
    func keepState(_ key: carillon_str, _ value: carillon_bytes) -> carillon_status {
        guard let key = stateKey(key) else { return .CARILLON_INVALID }
        note { $0.usesState(key) }
        guard let value = PluginText.bytes(value, limit: StateValues.valueLimit),
            services.set(StateEntry(key: key, value: Array(value)))
        else {
            note {
                $0.serviceFlaw(
                    "it keeps more than it may: a value has at most 16 KiB, and there are at most 256 keys and 256 KiB"
                )
            }
            return .CARILLON_INVALID
        }
        return .CARILLON_OK
    }

    private func stateKey(_ key: carillon_str) -> [UInt8]? {
        let bytes = PluginText.bytes(key, limit: StateValues.keyLimit).map { Array($0) } ?? []
        guard StateEntry(key: bytes, value: []).isWithinLimits else {
            note { $0.serviceFlaw("it uses a key that cannot be one: a key is 1 to 64 printable ASCII bytes") }
            return nil
        }
        return bytes
    }
}

/// The services that the host offers, and how each lends its functions.
let checkedServices: [(name: StaticString, lend: @Sendable (Arena) -> UnsafeRawPointer?)] = [
    (
        HostService.clientCertificates,
        { arena in
            let table = carillon_client_certificates(struct_size: 0, reserved: 0, present: checkPresent)
            return arena.lend(table).map { UnsafeRawPointer($0) }
        }
    ),
    (
        HostService.timers,
        { arena in
            let table = carillon_timers(struct_size: 0, reserved: 0, start: checkStartTimer, cancel: checkCancelTimer)
            return arena.lend(table).map { UnsafeRawPointer($0) }
        }
    ),
    (
        HostService.states,
        { arena in
            let table = carillon_states(struct_size: 0, reserved: 0, get: checkGetState, set: checkSetState)
            return arena.lend(table).map { UnsafeRawPointer($0) }
        }
    ),
    (
        HostService.inbound,
        { arena in
            let table = carillon_inbound(struct_size: 0, reserved: 0, url: checkInboundURL)
            return arena.lend(table).map { UnsafeRawPointer($0) }
        }
    ),
    (HostService.streams, { arena in arena.lend(checkStreamTable()).map { UnsafeRawPointer($0) } }),
]

// Functions, not closures: a closure written in an isolated context traps when a plugin calls it from another thread.

func checkStartTimer(
    _ host: UnsafePointer<carillon_host>?,
    _ after: UInt64,
    _ every: UInt64,
    _ fired: carillon_timer_fired?,
    _ context: UnsafeMutableRawPointer?,
    _ timer: UnsafeMutablePointer<UInt64>?
) -> carillon_status {
    checkHost(of: host)?.startTimer(after, every, fired, context, timer) ?? .CARILLON_INVALID
}

func checkCancelTimer(_ host: UnsafePointer<carillon_host>?, _ timer: UInt64) -> carillon_status {
    guard let host = checkHost(of: host) else { return .CARILLON_INVALID }
    host.note { $0.cancelsTimer() }
    return host.services.cancel(timer)
}

func checkGetState(
    _ host: UnsafePointer<carillon_host>?,
    _ key: carillon_str,
    _ value: carillon_value?,
    _ context: UnsafeMutableRawPointer?
) -> carillon_status {
    checkHost(of: host)?.lendState(key, value, context) ?? .CARILLON_INVALID
}

func checkSetState(
    _ host: UnsafePointer<carillon_host>?,
    _ key: carillon_str,
    _ value: carillon_bytes
) -> carillon_status {
    checkHost(of: host)?.keepState(key, value) ?? .CARILLON_INVALID
}
