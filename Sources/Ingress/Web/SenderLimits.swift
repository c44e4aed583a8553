import HTTPListening
import Listening
import RateLimits
import Synchronization
import Units

/// Limits requests and bytes by their sender, and messages by their device.
final class SenderLimits: Sendable {
    /// Entries of a table, some 100 bytes each.
    private static let capacity = 100_000

    private struct Tables {
        var clients: ClientRates
        /// Refusals that a client gets as answers before its connections end.
        var patience: ClientRates
        var bytes: ClientRates
        /// By the hash of the device token: memory should hold no tokens.
        var devices: RateTable<Int>
    }

    private let tables: Mutex<Tables>
    private let counts: LimitCounts

    /// `counts` counts all refusals.
    init(_ limits: WebIngressConfiguration.Limits, counts: LimitCounts) {
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

    /// Whether `bytes` more of a body may come at `now`.
    func admits(_ bytes: Int, from client: ClientAddress?, now: Timestamp) -> Bool {
        guard let client, !client.isLoopback else { return true }
        let isAdmitted = tables.withLock { $0.bytes.take(client, bytes, now: now) }
        if !isAdmitted { counts.refused(by: .bytes) }
        return isAdmitted
    }

    /// The refusal of one more request at `now`; nil when it may pass. Throws when the
    /// client had that answer often enough.
    func refusal(ofRequestFrom client: ClientAddress?, now: Timestamp) throws(RequestError) -> PushAnswer? {
        // An address of this machine may be a proxy, and stand for everybody.
        guard let client, !client.isLoopback else { return nil }
        let (isAdmitted, isTold, pause) = tables.withLock { tables in
            let isAdmitted = tables.clients.take(client, now: now)
            return (isAdmitted, isAdmitted || tables.patience.take(client, now: now), tables.clients.pause)
        }
        guard !isAdmitted else { return nil }
        counts.refused(by: .requests)
        guard isTold else { throw .tooFast }
        return .tooMany(retryAfter: pause)
    }

    /// The refusal of one more message for a device at `now`; nil when it may pass.
    func refusal(ofMessageFor resource: PushResource, now: Timestamp) -> PushAnswer? {
        var hasher = Hasher()
        hasher.combine(resource.deviceToken)
        hasher.combine(resource.isSandbox)
        let device = hasher.finalize()
        let (isAdmitted, pause) = tables.withLock { tables in
            (tables.devices.take(device, now: now), tables.devices.pause)
        }
        guard !isAdmitted else { return nil }
        counts.refused(by: .device)
        return .tooMany(retryAfter: pause)
    }
}
