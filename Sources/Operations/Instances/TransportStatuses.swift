import Console
import Delivery
import PluginHost
import Synchronization

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

    /// When credentials end.
    var family: MetricFamily {
        var family = MetricFamily(
            "carillon_credential_expiry_timestamp_seconds",
            .gauge,
            "When something of a transport's credentials ends, in seconds since 1970, as its plugin says."
        )
        for (queue, status) in statuses.withLock({ $0 }).sorted(by: { $0.key < $1.key }) {
            for expiry in status.expiries {
                family.add(expiry.at, ["platform": queue.platform, "app": queue.app, "what": expiry.what])
            }
        }
        return family
    }
}
