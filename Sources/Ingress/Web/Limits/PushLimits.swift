import Listening
import Synchronization

/// How many messages and bytes pass, by whose they are and whom they are for.
final class PushLimits: Sendable {
    /// Some 100 bytes each.
    private static let capacity = 100_000

    private struct Tables {
        var clients: RateTable<ClientAddress>
        var bytes: RateTable<ClientAddress>
        /// By the hash of the device token: tokens are not to lie about in memory.
        var devices: RateTable<Int>
    }

    private let tables: Mutex<Tables>

    init(_ limits: WebIngressConfiguration.Limits) {
        tables = Mutex(
            Tables(
                clients: RateTable(
                    burst: limits.clientBurst,
                    perSecond: Double(limits.perClientPerSecond),
                    capacity: Self.capacity
                ),
                bytes: RateTable(
                    burst: limits.bytesPerClientPerSecond * 8,
                    perSecond: Double(limits.bytesPerClientPerSecond),
                    capacity: Self.capacity
                ),
                devices: RateTable(
                    burst: limits.deviceBurst,
                    perSecond: Double(limits.perDevicePerMinute) / 60,
                    capacity: Self.capacity
                )
            )
        )
    }

    /// Whether so many more bytes of a body may come at `now`, in milliseconds since 1970.
    func admits(_ bytes: Int, from client: ClientAddress?, now: Int64) -> Bool {
        guard let client, !client.isLoopback else { return true }
        return tables.withLock { $0.bytes.take(client, bytes, now: now) }
    }

    /// What stands against one more message at `now`, in milliseconds since 1970; nil when nothing does.
    func refusal(of resource: PushResource, from client: ClientAddress?, now: Int64) -> PushAnswer? {
        var hasher = Hasher()
        hasher.combine(resource.deviceToken)
        hasher.combine(resource.isSandbox)
        let device = hasher.finalize()
        return tables.withLock { tables in
            // Behind an address of this machine a proxy may be, and so everybody.
            if let client, !client.isLoopback, !tables.clients.take(client, now: now) {
                return .tooMany(retryAfterSeconds: tables.clients.pause)
            }
            guard tables.devices.take(device, now: now) else {
                return .tooMany(retryAfterSeconds: tables.devices.pause)
            }
            return nil
        }
    }
}
