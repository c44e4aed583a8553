import Delivery
import Dispatch
import EventTrace
import HTTPLanes
import Nostr
import Notifications
import Registry
import Synchronization
import Units

/// What may be done to deliveries, beside looking at them.
package enum QueueHandle: Sendable {
    /// A router works on them.
    case running(Courier, Outbox)
    /// Nobody does. The trace is nil where nothing is traced.
    case stopped(Outbox, TraceStore?)
    /// Nothing.
    case readOnly
}

/// What operators ask about deliveries that wait or failed, and do to them. Reads files and waits for the disk.
package final class QueueOperations: Sendable {
    /// Deliveries that are handled at a time.
    private static let page = 500
    private static let disk = DispatchQueue(label: "carillon.queue-operations")

    private let registry: Registry
    private let files: OperatorFiles
    private let handle: QueueHandle
    private let deadLetters: DeadLetterLimits
    private let now: @Sendable () -> Timestamp

    package init(
        registry: Registry,
        files: OperatorFiles,
        handle: QueueHandle,
        deadLetters: DeadLetterLimits,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.registry = registry
        self.files = files
        self.handle = handle
        self.deadLetters = deadLetters
        self.now = now
    }

    /// Throws an ``OperationFailure``, as all of these.
    package func list(_ parameters: [String: String]) throws(OperationFailure) -> QueueList {
        let request = try QueueRequest(parameters, now: now())
        let devices = DeviceLookup(registry)
        let entries = try attempt { try page(request, request.selection, request.cursor, request.limit + 1, devices) }
        let shown = entries.prefix(request.limit)
        // What a device leaves behind is about to go.
        let kept = try attempt { try shown.filter { try $0.failedAt == nil || devices.isRegistered($0.device) } }
        let events = events(of: kept)
        return QueueList(
            deliveries: kept.map { QueueList.Item($0, event: events[$0.id]) },
            next: entries.count > shown.count ? shown.last.map { "\(QueueCursor(after: $0))" } : nil
        )
    }

    package func show(_ id: String) throws(OperationFailure) -> QueueDetails {
        let request = try QueueRequest(["id": id], now: now())
        let devices = DeviceLookup(registry)
        let entries = try attempt { try page(request, request.selection, .start, 10, devices) }
        guard !entries.isEmpty else {
            throw .unknown("no delivery \(id) waits or failed lately; carillon explain EVENT tells what became of one")
        }
        let events = events(of: entries)
        let pauses = (try? files.trace?.reader.pauses()) ?? [:]
        return QueueDetails(
            deliveries: entries.map { entry in
                let listing = (try? registry.listing(of: entry.device)) ?? nil
                return QueueDetails.Delivery(
                    item: QueueList.Item(entry, event: events[entry.id]),
                    npub: listing.map { NIP19.npub($0.account) },
                    deviceName: listing?.slot.deviceID,
                    pause: entry.failedAt == nil ? pauses[entry.queue].map { PauseWords.words($0) } : nil,
                    keptUntil: entry.failedAt.map { UTCTime($0 + .days(deadLetters.days)).stamp }
                )
            }
        )
    }

    /// Sends what failed again, and makes due what waits for a later time.
    package func retry(_ parameters: [String: String]) async throws(OperationFailure) -> QueueRetry {
        guard case .running(let courier, let outbox) = handle else {
            throw .unavailable("no router runs that could send them: start it first")
        }
        let request = try QueueRequest(parameters, now: now())
        try request.requireSelection()
        guard !outbox.isFull else { throw .unavailable("the outbox is full: see with carillon status what is behind") }
        var answer = QueueRetry(dryRun: request.isDryRun)
        var queues: Set<QueueName> = []
        // Those that wait first: what is sent again will wait, too.
        if request.selection.isWaitingWanted {
            var hastened = 0
            try await forEachPage(request, failed: false) { entries, moment in
                queues.formUnion(entries.map(\.queue))
                let valid = entries.filter { !$0.isExpired(at: moment) }
                for _ in 0..<(entries.count - valid.count) { answer.skip("expired") }
                if request.isDryRun {
                    hastened += valid.count { $0.due.map { $0 > moment } ?? false }
                } else {
                    try await onDisk { _ in outbox.awaitHandOver() }
                    hastened += await courier.hasten(valid).hastened
                }
            }
            answer.hastened = hastened
        }
        if request.selection.isFailedWanted {
            let devices = DeviceLookup(registry)
            try await forEachPage(request, failed: true) { entries, moment in
                let sorted = try await onDisk { _ in try entries.map { ($0, try devices.obstacle(to: $0, at: moment)) }
                }
                for case let (_, obstacle?) in sorted { answer.skip(obstacle) }
                let valid = sorted.filter { $0.1 == nil }.map(\.0)
                queues.formUnion(valid.map(\.queue))
                answer.retried += request.isDryRun ? valid.count : try await onDisk { _ in try courier.revive(valid) }
            }
        }
        let paused = courier.status.filter { queues.contains($0.queue) && $0.pausedUntil != nil }
        if request.unpauses {
            answer.unpaused =
                request.isDryRun
                ? paused.map(\.queue.words)
                : await courier.hasten([], unpausing: queues).unpaused.map(\.words)
        } else {
            answer.paused = paused.map { "\($0.queue.words) is paused (\($0.pauseReason ?? "no reason"))" }
        }
        return answer
    }

    /// Drops what waits or failed.
    package func drop(_ parameters: [String: String]) async throws(OperationFailure) -> QueueDropped {
        let request = try QueueRequest(parameters, now: now())
        try request.requireSelection()
        if case .readOnly = handle { throw .unavailable("nothing can be dropped by these means") }
        var answer = QueueDropped(dryRun: request.isDryRun)
        if request.selection.isWaitingWanted {
            try await forEachPage(request, failed: false) { entries, _ in
                let drop =
                    request.isDryRun ? QueueDrop(dropped: entries.count, underWay: 0) : try await self.drop(entries)
                answer.waiting += drop.dropped
                answer.underWay += drop.underWay
            }
        }
        if request.selection.isFailedWanted {
            try await forEachPage(request, failed: true) { entries, _ in
                answer.failed += request.isDryRun ? entries.count : try await self.dropLetters(entries)
            }
        }
        return answer
    }

    private func drop(_ entries: [QueueEntry]) async throws -> QueueDrop {
        switch handle {
        case .running(let courier, let outbox):
            try await onDisk { _ in outbox.awaitHandOver() }
            return await courier.drop(entries)
        case .stopped(let outbox, let trace):
            var changes = OutboxChanges()
            changes.removals = entries.compactMap(\.key)
            let reports = entries.map { $0.report(.discarded) }
            let moment = now()
            changes.ends = reports.filter { !$0.device.isOfIngress }.compactMap { PushEnd($0, at: moment) }
            try outbox.apply(changes)
            trace?.deliveriesReported(reports)
            return QueueDrop(dropped: entries.count, underWay: 0)
        case .readOnly: return QueueDrop(dropped: 0, underWay: 0)
        }
    }

    private func dropLetters(_ entries: [QueueEntry]) async throws -> Int {
        switch handle {
        case .running(let courier, let outbox):
            let dropped = try await onDisk { _ in try outbox.removeDeadLetters(entries.compactMap(\.letter)) }
            await courier.reportDropped(entries)
            return dropped
        case .stopped(let outbox, let trace):
            let dropped = try outbox.removeDeadLetters(entries.compactMap(\.letter))
            trace?.deliveriesReported(entries.map { $0.report(.discarded) })
            return dropped
        case .readOnly: return 0
        }
    }

    // MARK: Reading

    /// Calls `body` with the deliveries that are meant, page after page. What comes meanwhile may be among them.
    private func forEachPage(
        _ request: QueueRequest,
        failed: Bool,
        _ body: ([QueueEntry], Timestamp) async throws -> Void
    ) async throws(OperationFailure) {
        var selection = request.selection
        (selection.isFailedWanted, selection.isWaitingWanted) = (failed, !failed)
        let devices = DeviceLookup(registry)
        var cursor = QueueCursor.start
        while true {
            do {
                let from = cursor
                let entries = try await onDisk { [selection] in
                    try $0.page(request, selection, from, Self.page, devices)
                }
                guard let last = entries.last else { return }
                cursor = QueueCursor(after: last)
                try await body(entries, now())
            } catch {
                throw .unavailable("\(error)")
            }
        }
    }

    /// Runs `body` where it may wait for the disk, which the threads that tasks share must not.
    private func onDisk<Value: Sendable>(
        _ body: @escaping @Sendable (QueueOperations) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Self.disk.async { continuation.resume(with: Result { try body(self) }) }
        }
    }

    private func page(
        _ request: QueueRequest,
        _ selection: QueueSelection,
        _ cursor: QueueCursor,
        _ limit: Int,
        _ devices: DeviceLookup
    ) throws -> [QueueEntry] {
        try files.outbox.entries(selection, from: cursor, limit: limit) { device in
            guard let host = request.host else { return true }
            return try devices.host(of: device) == host
        }
    }

    /// Where each came from, as far as the trace knows.
    private func events(of entries: [QueueEntry]) -> [String: EventID] {
        (try? files.trace?.reader.events(of: Set(entries.map(\.id)))) ?? [:]
    }

    private func attempt<Value>(_ body: () throws -> Value) throws(OperationFailure) -> Value {
        do {
            return try body()
        } catch {
            throw .unavailable("\(error)")
        }
    }
}

/// Looks devices up once each. Belongs to one request.
private final class DeviceLookup: Sendable {
    private struct Found: Sendable {
        var isRegistered: Bool
        var host: String?
    }

    private let registry: Registry
    private let known = Mutex<[DeviceID: Found]>([:])

    init(_ registry: Registry) {
        self.registry = registry
    }

    /// Why a dead letter cannot be sent again; nil: it can.
    func obstacle(to entry: QueueEntry, at moment: Timestamp) throws -> String? {
        if entry.mode == nil { return "unreadable" }
        if entry.isExpired(at: moment) { return "expired" }
        return try isRegistered(entry.device) ? nil : "unregistered"
    }

    func isRegistered(_ device: DeviceID) throws -> Bool { try find(device).isRegistered }

    func host(of device: DeviceID) throws -> String? { try find(device).host }

    private func find(_ device: DeviceID) throws -> Found {
        if let found = known.withLock({ $0[device] }) { return found }
        let address = try device.isOfIngress ? registry.ingressAddress(of: device) : registry.address(of: device)
        let host = address.flatMap { URLParts($0.token)?.origin.host }
        let found = Found(isRegistered: address != nil, host: host)
        known.withLock { $0[device] = found }
        return found
    }
}

extension QueueEntry {
    fileprivate func isExpired(at now: Timestamp) -> Bool { expiresAt.map { $0 <= now } ?? false }
}

extension QueueName {
    fileprivate var words: String { "\(platform)/\(app)" }
}
