internal import CarillonABI
import Core
import Synchronization

extension Host {
    private static let timers: StaticString = "carillon.timer/1"

    /// Calls `fired` after a delay, and with `every` repeatedly, on a router thread. Calls never overlap: ticks during
    /// a slow call are skipped. The timer ends with the transport or filter. A timer for every minute, first after 5 s:
    /// `let timer = try host.startTimer(after: .seconds(5), every: .minutes(1)) { [weak self] in self?.renew() }`
    ///
    /// Throws if the router has no such service, if there are 1,024 timers, or if a time is out of range: both are up
    /// to 366 days, and `every` is at least 10 ms.
    public func startTimer(
        after: Duration,
        every: Duration? = nil,
        _ fired: @escaping @Sendable () -> Void
    ) throws(PluginError) -> HostTimer {
        guard let start = service(Self.timers, carillon_timers.self)?.start else {
            throw .missingService(Self.timers)
        }
        let callback = TimerCallbacks.add(fired, of: self, isRepeated: every != nil)
        var number: UInt64 = 0
        let status = start(
            pointer,
            UInt64(max(0, after.milliseconds)),
            // A pause that is too short must be an error, not a timer that fires once.
            every.map { UInt64(max(1, $0.milliseconds)) } ?? 0,
            timerFired,
            UnsafeMutableRawPointer(bitPattern: callback),
            &number
        )
        guard status == .CARILLON_OK else {
            TimerCallbacks.remove(callback)
            throw PluginError(
                status == .CARILLON_BUSY
                    ? "the router refused the timer: there are too many, or it is shutting down"
                    : "the router refused the timer: expected up to 366 days, and at least 10 ms between calls"
            )
        }
        return HostTimer(self, number, callback)
    }

    fileprivate func cancelTimer(_ number: UInt64) {
        // The timer may have fired already; the callback is removed in any case.
        _ = service(Self.timers, carillon_timers.self)?.cancel?(pointer, number)
    }
}

/// A timer of ``Host/startTimer(after:every:_:)``. It continues even if the last reference to this object is gone.
public final class HostTimer: Sendable {
    private let host: Host
    private let number: UInt64
    private let callback: UInt

    fileprivate init(_ host: Host, _ number: UInt64, _ callback: UInt) {
        self.host = host
        self.number = number
        self.callback = callback
    }

    /// Cancels the timer: no call starts after this. A call in progress on another thread may still be running.
    public func cancel() {
        TimerCallbacks.remove(callback)
        host.cancelTimer(number)
    }
}

/// The callbacks of timers. The router knows each by a number in the context pointer, so a timer that still fires never
/// dereferences freed memory.
enum TimerCallbacks {
    /// A timer's closure. Unchecked: the pointer is compared but never dereferenced.
    private struct Callback: @unchecked Sendable {
        let host: UnsafeRawPointer
        let isRepeated: Bool
        let fired: @Sendable () -> Void
    }

    private struct State: Sendable {
        var last: UInt = 0
        var callbacks: [UInt: Callback] = [:]
    }

    private static let state = Mutex(State())

    static func add(_ fired: @escaping @Sendable () -> Void, of host: Host, isRepeated: Bool) -> UInt {
        let callback = Callback(host: UnsafeRawPointer(host.pointer), isRepeated: isRepeated, fired: fired)
        return state.withLock { state in
            state.last += 1
            state.callbacks[state.last] = callback
            return state.last
        }
    }

    static func remove(_ number: UInt) { _ = state.withLock { $0.callbacks.removeValue(forKey: number) } }

    /// Removes the callbacks of a host when its transport or filter is destroyed.
    static func removeAll(of host: UnsafePointer<carillon_host>) {
        let host = UnsafeRawPointer(host)
        // Closures are released outside of the lock, because their deinitializers may call this again.
        let ended = state.withLock { state in
            let ended = state.callbacks.filter { $0.value.host == host }
            for number in ended.keys { state.callbacks[number] = nil }
            return ended
        }
        withExtendedLifetime(ended) {}
    }

    fileprivate static func fire(_ number: UInt) {
        let callback = state.withLock { state in
            let callback = state.callbacks[number]
            if callback?.isRepeated == false { state.callbacks[number] = nil }
            return callback
        }
        callback?.fired()
    }
}

private func timerFired(_ context: UnsafeMutableRawPointer?) { TimerCallbacks.fire(UInt(bitPattern: context)) }
