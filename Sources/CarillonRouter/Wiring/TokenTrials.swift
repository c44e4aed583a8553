import Delivery
import Listening
import Notifications
import Synchronization
import Units

/// Which clients of the sealed ingress bring device tokens that the push service refuses: whoever makes tokens up loses
/// their allowance for a while. Each new token counts once, for the client that brought it first.
struct TokenTrialBook: Sendable {
    private struct Record: Sendable {
        var since: Timestamp
        var taken = 0
        var refused = 0
    }

    /// How long what a client brought counts.
    private static let memory: Duration = .hours(1)
    /// A client may bring this many bad tokens, whatever else.
    private static let tolerated = 20
    private static let capacity = 100_000

    private var clients: [ClientAddress: Record] = [:]
    private var trials: [DeviceID: ClientAddress] = [:]

    /// Whether most of the new tokens that `client` brought within the hour were refused.
    func isMistrusted(_ client: ClientAddress, now: Timestamp) -> Bool {
        guard let record = clients[client], isRecent(record, now: now) else { return false }
        return record.refused > Self.tolerated && record.refused > record.taken
    }

    /// `client` brought a push for a device whose token was never taken.
    mutating func begin(_ device: DeviceID, by client: ClientAddress) {
        guard trials[device] == nil else { return }
        if trials.count >= Self.capacity { trials.removeAll(keepingCapacity: true) }
        trials[device] = client
    }

    /// The push service took the token of a device, refused it, or (nil) said nothing about it.
    mutating func end(_ device: DeviceID, isTaken: Bool?, now: Timestamp) {
        guard let client = trials.removeValue(forKey: device), let isTaken else { return }
        if clients.count >= Self.capacity, clients[client] == nil { forgetOld(now: now) }
        var record = clients[client] ?? Record(since: now)
        if !isRecent(record, now: now) { record = Record(since: now) }
        record.taken += isTaken ? 1 : 0
        record.refused += isTaken ? 0 : 1
        clients[client] = record
    }

    private mutating func forgetOld(now: Timestamp) {
        clients = clients.filter { isRecent($0.value, now: now) }
        if clients.count >= Self.capacity { clients.removeAll(keepingCapacity: true) }
    }

    /// A clock that was put back makes nobody wait longer.
    private func isRecent(_ record: Record, now: Timestamp) -> Bool {
        now >= record.since && now - record.since < Self.memory
    }
}

/// A ``TokenTrialBook`` that learns from what becomes of deliveries.
final class TokenTrials: DeliveryObserver {
    private let book = Mutex(TokenTrialBook())
    private let now: @Sendable () -> Timestamp

    init(now: @escaping @Sendable () -> Timestamp) {
        self.now = now
    }

    /// Who may be behind an address of this machine nobody knows.
    func isMistrusted(_ client: ClientAddress?) -> Bool {
        guard let client, !client.isLoopback else { return false }
        return book.withLock { $0.isMistrusted(client, now: now()) }
    }

    func begin(_ device: DeviceID, by client: ClientAddress?) {
        guard let client, !client.isLoopback else { return }
        book.withLock { $0.begin(device, by: client) }
    }

    func deliveriesReported(_ reports: [DeliveryReport]) {
        let ends = reports.filter { $0.device.rawValue < 0 && $0.kind.isFinal }
        guard !ends.isEmpty else { return }
        let now = now()
        book.withLock { book in
            for report in ends { book.end(report.device, isTaken: report.isTokenTaken, now: now) }
        }
    }

    func queuePaused(_ pause: QueuePause) {}
    func queueResumed(_ queue: QueueName) {}
    func outboxFailed(_ error: any Error) {}
}

extension DeliveryReport {
    /// Whether the push service took the token or refused it; nil: neither, or it knew it once.
    fileprivate var isTokenTaken: Bool? {
        switch kind {
        case .delivered: true
        case .gone where status == 410: nil
        case .gone, .rejected: false
        default: nil
        }
    }
}
