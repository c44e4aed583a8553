import HTTPListening
import Listening
import RateLimits
import Synchronization

/// How many requests and bytes pass, by whose they are, and how many messages, by whom they are for.
final class PushLimits: Sendable {
    /// Some 100 bytes each.
    private static let capacity = 100_000

    private struct Tables {
        var clients: ClientRates
        /// Refusals of their requests that are answered before connections end.
        var patience: ClientRates
        var bytes: ClientRates
        /// By the hash of the device token: tokens are not to lie about in memory.
        var devices: RateTable<Int>
    }

    private let tables: Mutex<Tables>
    private let counts: DoorCounts

    /// `counts` are told of whatever does not pass.
    init(_ limits: WebIngressConfiguration.Limits, counts: DoorCounts) {
        self.counts = counts
        tables = Mutex(
            Tables(
                clients: ClientRates(
                    burst: limits.clientBurst,
                    perSecond: Double(limits.perClientPerSecond),
                    capacity: Self.capacity
                ),
                patience: ClientRates(
                    burst: limits.clientBurst * 4,
                    perSecond: Double(limits.perClientPerSecond),
                    capacity: Self.capacity
                ),
                bytes: ClientRates(
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
        let isAdmitted = tables.withLock { $0.bytes.take(client, bytes, now: now) }
        if !isAdmitted { counts.refused(by: .bytes) }
        return isAdmitted
    }

    /// What stands against one more request at `now`, in milliseconds since 1970; nil when nothing does. Throws where the client
    /// has been told so often enough.
    func refusal(ofRequestFrom client: ClientAddress?, now: Int64) throws(RequestMistake) -> PushAnswer? {
        // Behind an address of this machine a proxy may be, and so everybody.
        guard let client, !client.isLoopback else { return nil }
        let (isAdmitted, isTold, pause) = tables.withLock { tables in
            let isAdmitted = tables.clients.take(client, now: now)
            return (isAdmitted, isAdmitted || tables.patience.take(client, now: now), tables.clients.pause)
        }
        guard !isAdmitted else { return nil }
        counts.refused(by: .requests)
        guard isTold else { throw .tooFast }
        return .tooMany(retryAfterSeconds: pause)
    }

    /// What stands against one more message for a device at `now`, in milliseconds since 1970; nil when nothing does.
    func refusal(ofMessageFor resource: PushResource, now: Int64) -> PushAnswer? {
        var hasher = Hasher()
        hasher.combine(resource.deviceToken)
        hasher.combine(resource.isSandbox)
        let device = hasher.finalize()
        let (isAdmitted, pause) = tables.withLock { tables in
            (tables.devices.take(device, now: now), tables.devices.pause)
        }
        guard !isAdmitted else { return nil }
        counts.refused(by: .device)
        return .tooMany(retryAfterSeconds: pause)
    }
}
