import CIsolation
import CarillonABI
import Core
import Glibc
import PluginProtocol
import Synchronization

/// The timers of all instances. The delivery thread runs them between frames.
final class Timers: Sendable {
    /// A timer's callback.
    ///
    /// Unchecked: the pointer belongs to the plugin and is never dereferenced here.
    private struct Call: @unchecked Sendable {
        let instance: PluginInstance
        let fired: carillon_timer_fired
        let context: UnsafeMutableRawPointer?
    }

    private let table = Mutex(TimerTable<Call>())
    /// Becomes readable when the delivery thread must look for the next timer again.
    private let wakeup: Int32

    init() {
        wakeup = carillon_event()
        guard wakeup >= 0 else { Process.fail("no eventfd: \(String(cString: strerror(errno)))") }
    }

    /// `start` of the service `carillon.timer/1`.
    func start(
        of instance: PluginInstance,
        after: UInt64,
        every: UInt64,
        _ fired: @escaping carillon_timer_fired,
        _ context: UnsafeMutableRawPointer?,
        _ timer: UnsafeMutablePointer<UInt64>
    ) -> carillon_status {
        let call = Call(instance: instance, fired: fired, context: context)
        let now = Deadline.now()
        let (start, isEarlier) = table.withLock { table in
            let former = table.nextDue
            let start = table.start(of: UInt64(instance.number), after: after, every: every, now: now, call)
            // Before it can fire.
            if case .started(let number) = start { timer.pointee = number }
            return (start, table.nextDue != former)
        }
        switch start {
        case .invalid: return .CARILLON_INVALID
        case .full: return .CARILLON_BUSY
        case .started:
            if isEarlier { wake() }
            return .CARILLON_OK
        }
    }

    /// `cancel` of the service `carillon.timer/1`.
    func cancel(_ timer: UInt64, of instance: PluginInstance) -> carillon_status {
        switch table.withLock({ $0.cancel(timer, of: UInt64(instance.number)) }) {
        case .ended: .CARILLON_OK
        case .underWay: .CARILLON_BUSY
        case .unknown: .CARILLON_INVALID
        }
    }

    /// Stops all timers of the instance.
    func removeAll(of instance: PluginInstance) {
        table.withLock { $0.removeAll(of: UInt64(instance.number)) }
    }

    /// Runs the timers due now. Timers that become due during this wait until after the next frame.
    func fireDue(_ activity: Activity) {
        let now = Deadline.now()
        while let firing = table.withLock({ $0.takeDue(now: now) }) {
            let call = firing.payload
            let isOpen: Void? = call.instance.enter {
                activity.during(timer: firing.timer) { call.fired(call.context) }
            }
            let end = Deadline.now()
            table.withLock { table in
                // It was started while the instance was closed.
                if isOpen == nil { _ = table.cancel(firing.timer, of: UInt64(call.instance.number)) }
                table.end(firing.timer, now: end)
            }
        }
    }

    /// Waits for input on `descriptor`, or until a timer is due. True: there may be input.
    func wait(for descriptor: Int32) -> Bool {
        var polled = [
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: wakeup, events: Int16(POLLIN), revents: 0),
        ]
        let due = table.withLock(\.nextDue)
        // The clock counts whole milliseconds, so one more is always late enough.
        let wait = due.map { max(0, ($0 - .now()).milliseconds) }
        _ = poll(&polled, 2, wait.map { Int32(clamping: $0) } ?? -1)
        if polled[1].revents != 0 { clearWakeup() }
        return polled[0].revents != 0
    }

    private func wake() {
        var one: UInt64 = 1
        _ = write(wakeup, &one, 8)
    }

    private func clearWakeup() {
        var count: UInt64 = 0
        _ = read(wakeup, &count, 8)
    }
}
