import CarillonABI
import Dispatch
import PluginServices
import Synchronization
import Units

/// The timers of instances that run in this process. One queue makes all their calls.
package final class PluginTimers: Sendable {
    /// What a timer calls.
    ///
    /// Unchecked: the pointer is the plugin's own business and never looked into here.
    private struct Call: @unchecked Sendable {
        let bridge: PluginBridge
        let fired: carillon_timer_fired
        let context: UnsafeMutableRawPointer?
        let note = LastingNote.current
    }

    private struct State {
        var table = TimerTable<Call>()
        /// When the queue looks next; nil: it does not.
        var alarm: Deadline?
    }

    private let queue = DispatchQueue(label: "carillon.plugin.timers")
    private let now: @Sendable () -> Deadline
    private let state = Mutex(State())

    package init(now: @escaping @Sendable () -> Deadline = Deadline.now) { self.now = now }

    /// `start` of the service `carillon.timer/1`, for the bridge of that number.
    func start(
        of bridge: PluginBridge,
        _ number: UInt64,
        after: UInt64,
        every: UInt64,
        _ fired: @escaping carillon_timer_fired,
        _ context: UnsafeMutableRawPointer?,
        _ timer: UnsafeMutablePointer<UInt64>
    ) -> carillon_status {
        let call = Call(bridge: bridge, fired: fired, context: context)
        let now = now()
        let start = state.withLock { state in
            let start = state.table.start(of: number, after: after, every: every, now: now, call)
            // Before it can fire.
            if case .started(let number) = start { timer.pointee = number }
            return start
        }
        switch start {
        case .invalid: return .CARILLON_INVALID
        case .full: return .CARILLON_BUSY
        case .started:
            setAlarm()
            return .CARILLON_OK
        }
    }

    /// `cancel` of the service `carillon.timer/1`.
    func cancel(_ timer: UInt64, of number: UInt64) -> carillon_status {
        switch state.withLock({ $0.table.cancel(timer, of: number) }) {
        case .ended: .CARILLON_OK
        case .underWay: .CARILLON_BUSY
        case .unknown: .CARILLON_INVALID
        }
    }

    /// No timer of the bridge of that number fires any more.
    func removeAll(of number: UInt64) { state.withLock { $0.table.removeAll(of: number) } }

    private func setAlarm() {
        let due = state.withLock { state -> Deadline? in
            guard let due = state.table.nextDue, state.alarm.map({ due < $0 }) ?? true else { return nil }
            state.alarm = due
            return due
        }
        guard let due else { return }
        let wait = max(0, (due - now()).milliseconds)
        queue.asyncAfter(deadline: .now() + .milliseconds(Int(clamping: wait))) { [weak self] in self?.ring(due) }
    }

    private func ring(_ alarm: Deadline) {
        let isLast = state.withLock { state in
            guard state.alarm == alarm else { return false }
            state.alarm = nil
            return true
        }
        // An earlier one has taken its place.
        guard isLast else { return }
        fireDue()
        setAlarm()
    }

    /// Makes the calls that are due.
    private func fireDue() {
        let now = now()
        while let firing = state.withLock({ $0.table.takeDue(now: now) }) {
            let call = firing.payload
            if call.bridge.enterTimer() {
                LastingNote.during(.timer, call.note) { call.fired(call.context) }
                call.bridge.change { $0.leave() }
            }
            let end = self.now()
            state.withLock { $0.table.end(firing.timer, now: end) }
        }
    }
}
