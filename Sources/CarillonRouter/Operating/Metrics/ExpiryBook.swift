import Console
import Delivery
import PluginHost
import Synchronization

/// When the credentials of transports end, as their plugins said last.
final class ExpiryBook: Sendable {
    private let expiries = Mutex<[QueueName: [TransportExpiry]]>([:])

    /// Asks all of them; a plugin that does not answer is waited for a few seconds.
    func look(at transports: Transports) async {
        var found: [QueueName: [TransportExpiry]] = [:]
        await withTaskGroup { group in
            for (queue, instance) in transports.all { group.addTask { (queue, await instance.expiries()) } }
            for await (queue, expiries) in group { found[queue] = expiries }
        }
        expiries.withLock { $0 = found }
    }

    var family: MetricFamily {
        var family = MetricFamily(
            "carillon_credential_expiry_timestamp_seconds",
            .gauge,
            "When something of a transport's credentials ends, in seconds since 1970, as its plugin says."
        )
        for (queue, expiries) in expiries.withLock({ $0 }).sorted(by: { $0.key < $1.key }) {
            for expiry in expiries {
                family.add(expiry.at, ["platform": queue.platform, "app": queue.app, "what": expiry.what])
            }
        }
        return family
    }
}
