internal import CarillonABI
import Core
import Synchronization

extension Host {
    private static let timers: StaticString = "carillon.timer/1"

    /// Calls `fired` after a while: once, or with `every` again and again, on a thread of the router's. It is never
    /// called twice at a time, and what a slow call misses is left out. The timer ends with the transport or filter.
    ///
    /// Throws when the router has no such service, when there are 1,024 timers, and for times beyond their limits: both
    /// are 366 days at most, and `every` is 10 ms at least.
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
            // A pause that is too short is an error, and not a timer that fires once.
            every.map { UInt64(max(1, $0.milliseconds)) } ?? 0,
            timerFired,
            UnsafeMutableRawPointer(bitPattern: callback),
            &number
        )
        guard status == .CARILLON_OK else {
            TimerCallbacks.remove(callback)
            throw PluginError(
                status == .CARILLON_BUSY
                    ? "the router starts no further timer: there are too many, or it is shutting down"
                    : "the router does not start the timer: expected 366 days at most, and to repeat it after 10 ms"
                        + " at least"
            )
        }
        return HostTimer(self, number, callback)
    }

    fileprivate func cancelTimer(_ number: UInt64) {
        // It may have fired, and the callback is forgotten in any case.
        _ = service(Self.timers, carillon_timers.self)?.cancel?(pointer, number)
    }
}

/// A timer of the router's. It goes on when nothing refers to this any more.
public final class HostTimer: Sendable {
    private let host: Host
    private let number: UInt64
    private let callback: UInt

    fileprivate init(_ host: Host, _ number: UInt64, _ callback: UInt) {
        self.host = host
        self.number = number
        self.callback = callback
    }

    /// Ends the timer: no call begins after this. One that is under way on another thread may still go on.
    public func cancel() {
        TimerCallbacks.remove(callback)
        host.cancelTimer(number)
    }
}

/// What timers call. The router knows each by a number in a pointer's place, so that a timer that fires after all leads
/// to no freed memory.
enum TimerCallbacks {
    /// Unchecked: the pointer is compared and never looked into.
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

    /// Forgets what the timers of a host call, because its transport or filter is destroyed.
    static func removeAll(of host: UnsafePointer<carillon_host>) {
        let host = UnsafeRawPointer(host)
        // Closures are let go of outside of the lock: their ends may come here again.
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
