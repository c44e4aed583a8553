import Console
import Delivery
import Notifications
import PluginHost
import Synchronization
import Units

/// The transports that serve now; a reload exchanges them.
package final class ActiveTransports: Sendable {
    private struct State {
        var transports: Transports
        /// Those that serve no more and end what they have.
        var leaving: [TransportInstance] = []
        /// What those did that have ended, by queue, so that counters never go back.
        var retired: [QueueName: RequestCounts] = [:]
        var retiredStreams: [QueueName: StreamCounts] = [:]
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
            state.retiredStreams[instance.queue, default: StreamCounts()].add(instance.streams)
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

    /// The same for streams.
    var streams: [QueueName: StreamCounts] {
        state.withLock { state in
            (state.transports.all.values + state.leaving).reduce(into: state.retiredStreams) { streams, instance in
                streams[instance.queue, default: StreamCounts()].add(instance.streams)
            }
        }
    }
}

extension TransportInstance {
    var queue: QueueName { QueueName(platform: platform, app: app) }
}

/// What the plugins of transports said of them last.
package final class TransportStatuses: Sendable {
    private let statuses = Mutex<[QueueName: TransportStatus]>([:])

    /// Asks all of them. A plugin that does not answer is waited for a few seconds, and what it said before still
    /// counts.
    func look(at transports: Transports) async {
        var found = statuses.withLock { $0.filter { transports.all[$0.key] != nil } }
        await withTaskGroup { group in
            for (queue, instance) in transports.all { group.addTask { (queue, await instance.status()) } }
            for await case (let queue, let status?) in group { found[queue] = status }
        }
        statuses.withLock { $0 = found }
    }

    /// What whoever registers has to know: by app, platform and name.
    package var clients: [String: [String: [String: [String]]]] {
        statuses.withLock { statuses in
            statuses.reduce(into: [:]) { clients, status in
                guard !status.value.clients.isEmpty else { return }
                clients[status.key.app, default: [:]][status.key.platform] = status.value.clients
            }
        }
    }

    /// When credentials end, in the order of the queues.
    var expiries: [(QueueName, TransportStatus.Expiry)] {
        statuses.withLock { $0 }.sorted { $0.key < $1.key }
            .flatMap { queue, status in status.expiries.map { (queue, $0) } }
    }

    /// The same as a metric.
    var family: MetricFamily {
        var family = MetricFamily(
            "carillon_credential_expiry_timestamp_seconds",
            .gauge,
            "When something of a transport's credentials ends, in seconds since 1970, as its plugin says."
        )
        for (queue, expiry) in expiries {
            family.add(expiry.at.seconds, ["platform": queue.platform, "app": queue.app, "what": expiry.what])
        }
        return family
    }
}
