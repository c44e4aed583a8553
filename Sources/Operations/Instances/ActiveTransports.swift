import Delivery
import Notifications
import PluginHost
import Synchronization

/// The transports that serve now; a reload exchanges them.
package final class ActiveTransports: Sendable {
    private struct State {
        var transports: Transports
        /// Those that serve no more and end what they have.
        var leaving: [TransportInstance] = []
        /// What those did that have ended, by queue, so that counters never go back.
        var retired: [QueueName: RequestCounts] = [:]
    }

    private let state: Mutex<State>

    /// What the plugins of the transports said last.
    package let statuses = TransportStatuses()

    package init(_ transports: Transports) {
        state = Mutex(State(transports: transports))
    }

    package var current: Transports { state.withLock { $0.transports } }

    package subscript(queue: QueueName) -> (any Transport)? { current[queue] }

    /// Refuses a registration that no transport serves or that its transport finds wrong.
    @Sendable package func check(_ address: DeviceAddress) throws { try current.check(address) }

    /// Asks the plugins how their transports are.
    package func refreshStatuses() async { await statuses.look(at: current) }

    /// Puts others in their place, and returns the instances that serve no more.
    package func replace(by new: Transports) -> [TransportInstance] {
        state.withLock { state in
            let leaving = state.transports.all.filter { queue, instance in new.all[queue] !== instance }.map(\.value)
            state.transports = new
            state.leaving += leaving
            return leaving
        }
    }

    /// Takes an instance that was leaving for ended.
    package func noteEnd(of instance: TransportInstance) {
        state.withLock { state in
            state.leaving.removeAll { $0 === instance }
            state.retired[instance.queue, default: RequestCounts()].add(instance.requests)
        }
    }

    /// The HTTP requests of each queue's transports so far, those of former ones included.
    var requests: [QueueName: RequestCounts] {
        state.withLock { state in
            (state.transports.all.values + state.leaving).reduce(into: state.retired) { requests, instance in
                requests[instance.queue, default: RequestCounts()].add(instance.requests)
            }
        }
    }
}

extension TransportInstance {
    var queue: QueueName { QueueName(platform: platform, app: app) }
}
