internal import CarillonABI
import Core
import Synchronization

/// The service "carillon.timer/1" of a ``FakeHost``; a test advances its time.
package final class FakeTimers: Sendable {
    // The context is a plugin's pointer: it is only ever handed back.
    private struct Timer: @unchecked Sendable {
        var due: UInt64
        let every: UInt64
        let fired: carillon_timer_fired
        let context: UnsafeMutableRawPointer?
    }

    private struct State {
        var now: UInt64 = 0
        var last: UInt64 = 0
        var timers: [UInt64: Timer] = [:]
    }

    private static let longest: UInt64 = 366 * 86_400_000
    private static let limit = 1024

    private let state = Mutex(State())

    /// The time until each timer fires, shortest first.
    package var waits: [Duration] {
        state.withLock { state in
            state.timers.values.map { $0.due - state.now }.sorted().map { .milliseconds(Int64($0)) }
        }
    }

    /// Advances the time, and fires the timers that become due, in order.
    package func advance(by span: Duration) {
        let end = state.withLock { $0.now + UInt64(max(0, span.milliseconds)) }
        while let timer = takeNext(until: end) { timer.fired(timer.context) }
        state.withLock { $0.now = max($0.now, end) }
    }

    private func takeNext(until end: UInt64) -> Timer? {
        state.withLock { state in
            let next = state.timers.min { ($0.value.due, $0.key) < ($1.value.due, $1.key) }
            guard let (number, timer) = next, timer.due <= end else { return nil }
            state.now = max(state.now, timer.due)
            if timer.every == 0 {
                state.timers[number] = nil
            } else {
                state.timers[number]?.due += timer.every
            }
            return timer
        }
    }

    fileprivate func start(
        _ after: UInt64,
        _ every: UInt64,
        _ fired: @escaping carillon_timer_fired,
        _ context: UnsafeMutableRawPointer?
    ) -> (carillon_status, UInt64) {
        let timer = Timer(due: after, every: every, fired: fired, context: context)
        return state.withLock { state in
            guard after <= Self.longest, every == 0 || (10...Self.longest).contains(every) else {
                return (.CARILLON_INVALID, 0)
            }
            guard state.timers.count < Self.limit else { return (.CARILLON_BUSY, 0) }
            state.last += 1
            state.timers[state.last] = timer
            state.timers[state.last]?.due += state.now
            return (.CARILLON_OK, state.last)
        }
    }

    fileprivate func cancel(_ number: UInt64) -> carillon_status {
        state.withLock { $0.timers.removeValue(forKey: number) == nil ? .CARILLON_INVALID : .CARILLON_OK }
    }

    /// The service's struct, which lives until the process ends.
    static let service = FakeService(
        carillon_timers(
            struct_size: UInt32(MemoryLayout<carillon_timers>.size),
            reserved: 0,
            start: startTimer,
            cancel: cancelTimer
        )
    )
}

private func startTimer(
    _ host: UnsafePointer<carillon_host>?,
    _ after: UInt64,
    _ every: UInt64,
    _ fired: carillon_timer_fired?,
    _ context: UnsafeMutableRawPointer?,
    _ timer: UnsafeMutablePointer<UInt64>?
) -> carillon_status {
    guard let host = FakeHost.at(host), let fired, let timer else { return .CARILLON_INVALID }
    let (status, number) = host.timers.start(after, every, fired, context)
    if status == .CARILLON_OK { timer.pointee = number }
    return status
}

private func cancelTimer(_ host: UnsafePointer<carillon_host>?, _ timer: UInt64) -> carillon_status {
    FakeHost.at(host)?.timers.cancel(timer) ?? .CARILLON_INVALID
}
