import Console
import Core
import Delivery
import Dispatch
import HTTPClient
import Nostr
import Observability
import Push
import Registry
import RouterConfiguration
import Synchronization

/// The means of changing deliveries: a running router, the files of a stopped one, or none.
package enum QueueHandle: Sendable {
    /// A running router works on the deliveries. The closure returns its current stores.
    case running(@Sendable () -> [WorkingStore])
    /// No router runs. The trace is `nil` if tracing is off.
    case stopped(Outbox, TraceStore?)
    /// Changes are not allowed.
    case readOnly
}

/// The operators' requests on queued and failed deliveries. Reads files and blocks on the disk.
package final class QueueOperations: Sendable {
    /// The number of deliveries in one batch.
    private static let page = 500
    private static let disk = DispatchQueue(label: "carillon.queue-operations")

    private let reader: DeviceReader
    private let handle: QueueHandle
    private let deadLetters: DeadLetterLimits

    package init(_ reader: DeviceReader, _ handle: QueueHandle) {
        (self.reader, self.handle) = (reader, handle)
        deadLetters = reader.configuration().deadLetters
    }

    private var registry: Registry { reader.registry }
    private var files: OperatorFiles { reader.files }
    private func now() -> Timestamp { reader.now() }

    /// Throws an ``OperationError``, like all methods below.
    package func list(_ parameters: [String: String]) throws(OperationError) -> QueueList {
        try page(parameters).list
    }

    /// Returns this router's part of an answer, sorted by store.
    func page(_ parameters: [String: String]) throws(OperationError) -> QueuePage {
        let request = try QueueRequest(parameters, now: now())
        let devices = DeviceLookup(registry)
        let entries = try OperationError.attempt { () throws -> [(place: StorePlace, entry: QueueEntry)] in
            var entries: [(place: StorePlace, entry: QueueEntry)] = []
            for (place, reader) in readers where place >= request.cursor.place && entries.count <= request.limit {
                let cursor = place == request.cursor.place ? request.cursor.cursor : .start
                let missing = request.limit + 1 - entries.count
                let found = try page(request, request.selection, in: reader, cursor, missing, devices)
                entries += found.map { (place, $0) }
            }
            return entries
        }
        let (shown, last) = entries.page(request.limit)
        // Failed deliveries that cannot be sent again are omitted.
        let couriers = couriers
        let kept = try OperationError.attempt {
            try shown.filter { place, entry in
                guard entry.failedAt != nil else { return true }
                return try devices.isRegistered(entry.device) && couriers[place]?.isWithdrawn(entry) != true
            }
        }
        let events = events(of: kept.map(\.entry))
        return QueuePage(
            entries: kept.map { place, entry in
                QueuePage.Entry(
                    behind: "\(PlacedCursor(place, QueueCursor(after: entry)))",
                    item: QueueList.Item(entry, at: place, event: events[entry.id])
                )
            },
            next: last.map { "\(PlacedCursor($0.place, QueueCursor(after: $0.entry)))" }
        )
    }

    package func show(_ id: String) throws(OperationError) -> QueueDetails {
        let details = try details(id)
        guard !details.deliveries.isEmpty else { throw Self.unknown(id) }
        return details
    }

    /// The error for an unknown delivery. `asked` is `nil` without a cluster.
    static func unknown(_ id: String, _ asked: MembersAsked? = nil) -> OperationError {
        let missing = (asked?.lines ?? []).map { "; \($0)" }.joined()
        return .unknown(
            "no delivery \(id) waits or failed lately; see carillon explain EVENT\(missing)"
        )
    }

    /// Returns the details of the deliveries with this id; empty if there are none.
    func details(_ id: String) throws(OperationError) -> QueueDetails {
        let request = try QueueRequest(["id": id], now: now())
        let devices = DeviceLookup(registry)
        let entries = try OperationError.attempt {
            try readers.flatMap { place, reader in
                try page(request, request.selection, in: reader, .start, 10, devices).map { (place, $0) }
            }
        }
        let events = events(of: entries.map(\.1))
        let pauses = (try? files.trace?.reader.pauses()) ?? [:]
        return QueueDetails(
            deliveries: entries.map { place, entry in
                let listing = (try? registry.listing(of: entry.device)) ?? nil
                return QueueDetails.Delivery(
                    item: QueueList.Item(entry, at: place, event: events[entry.id]),
                    npub: listing.map { NIP19.npub($0.account) },
                    deviceName: listing?.slot.deviceID,
                    pause: entry.failedAt == nil ? pauses[entry.queue].map { PauseWords.words($0) } : nil,
                    keptUntil: entry.failedAt.map { ($0 + .days(deadLetters.days)).rfc3339 }
                )
            }
        )
    }

    /// Requeues failed deliveries and makes delayed ones due immediately.
    package func retry(_ parameters: [String: String]) async throws(OperationError) -> QueueRetry {
        guard case .running(let stores) = handle else {
            throw .unavailable("no router runs that could send them: start it first")
        }
        let request = try QueueRequest(parameters, now: now())
        try request.requireSelection()
        let all = stores()
        guard !all.contains(where: { $0.store.outbox.isFull }) else {
            throw .unavailable(Sentence("retry-full", "the outbox is full: see with carillon status what is behind"))
        }
        var answer = QueueRetry(dryRun: request.isDryRun)
        var queues: Set<QueueName> = []
        for store in all { try await retry(request, in: store, &answer, &queues) }
        var paused: Set<String> = []
        var unpaused: Set<String> = []
        for store in all {
            let asleep = store.courier.status.filter { queues.contains($0.queue) && $0.pause != nil }
            if request.unpauses {
                unpaused.formUnion(
                    request.isDryRun
                        ? asleep.map(\.queue.words)
                        : await store.courier.expedite([], unpausing: queues).unpaused.map(\.words)
                )
            } else {
                paused.formUnion(asleep.map { "\($0.queue.words) is paused (\($0.pause?.reason ?? "no reason"))" })
            }
        }
        (answer.paused, answer.unpaused) = (paused.sorted(), unpaused.sorted())
        return answer
    }

    private func retry(
        _ request: QueueRequest,
        in store: WorkingStore,
        _ answer: inout QueueRetry,
        _ queues: inout Set<QueueName>
    ) async throws(OperationError) {
        let courier = store.courier
        // Waiting deliveries first, because requeued ones also become waiting.
        if request.selection.isWaitingWanted {
            try await forEachPage(request, in: store.reader, failed: false) { entries, moment in
                queues.formUnion(entries.map(\.queue))
                let valid = entries.filter { !$0.isExpired(at: moment) }
                for _ in 0..<(entries.count - valid.count) { answer.skip("expired") }
                if request.isDryRun {
                    answer.expedited += valid.count { $0.due.map { $0 > moment } ?? false }
                } else {
                    try await onDisk { _ in store.store.outbox.awaitHandOver() }
                    answer.expedited += await courier.expedite(valid).expedited
                }
            }
        }
        guard request.selection.isFailedWanted else { return }
        let devices = DeviceLookup(registry)
        try await forEachPage(request, in: store.reader, failed: true) { entries, moment in
            let sorted = try await onDisk { _ in try entries.map { ($0, try devices.blocker(to: $0, at: moment)) } }
            for case let (_, blocker?) in sorted { answer.skip(blocker) }
            let sendable = sorted.filter { $0.1 == nil }.map(\.0)
            let valid = sendable.filter { !courier.isWithdrawn($0) }
            if valid.count < sendable.count { answer.skip("deleted", sendable.count - valid.count) }
            queues.formUnion(valid.map(\.queue))
            answer.retried += request.isDryRun ? valid.count : try await onDisk { _ in try courier.requeue(valid) }
        }
    }

    /// Drops waiting and failed deliveries.
    package func drop(_ parameters: [String: String]) async throws(OperationError) -> QueueDropped {
        let request = try QueueRequest(parameters, now: now())
        try request.requireSelection()
        var answer = QueueDropped(dryRun: request.isDryRun)
        switch handle {
        case .readOnly: throw .unavailable("nothing can be dropped by these means")
        case .running(let stores):
            for store in stores() {
                try await drop(request, in: store.reader, &answer) { try await self.drop($0, of: store) }
            }
        case .stopped(let outbox, let trace):
            try await drop(request, in: files.outbox.own, &answer) { try self.drop($0, of: outbox, trace) }
        }
        return answer
    }

    /// `drop` drops deliveries that are all waiting or all failed.
    private func drop(
        _ request: QueueRequest,
        in reader: OutboxReader,
        _ answer: inout QueueDropped,
        _ drop: ([QueueEntry]) async throws -> QueueDrop
    ) async throws(OperationError) {
        for failed in [false, true] {
            guard failed ? request.selection.isFailedWanted : request.selection.isWaitingWanted else { continue }
            try await forEachPage(request, in: reader, failed: failed) { entries, _ in
                let dropped =
                    request.isDryRun ? QueueDrop(dropped: entries.count, underWay: 0) : try await drop(entries)
                if failed { answer.failed += dropped.dropped } else { answer.waiting += dropped.dropped }
                answer.underWay += dropped.underWay
            }
        }
    }

    private func drop(_ entries: [QueueEntry], of store: WorkingStore) async throws -> QueueDrop {
        let letters = entries.compactMap(\.letter)
        guard letters.isEmpty else {
            let dropped = try await onDisk { _ in try store.store.removeDeadLetters(letters) }
            await store.courier.reportDropped(entries)
            return QueueDrop(dropped: dropped, underWay: 0)
        }
        try await onDisk { _ in store.store.outbox.awaitHandOver() }
        return await store.courier.drop(entries)
    }

    private func drop(_ entries: [QueueEntry], of outbox: Outbox, _ trace: TraceStore?) throws -> QueueDrop {
        let letters = entries.compactMap(\.letter)
        let reports = entries.map { $0.report(.discarded) }
        guard letters.isEmpty else {
            let dropped = try outbox.removeDeadLetters(letters)
            trace?.deliveriesReported(reports)
            return QueueDrop(dropped: dropped, underWay: 0)
        }
        var changes = OutboxChanges()
        changes.removals = entries.compactMap(\.key)
        changes.ends = CompletedPush.all(of: reports, at: now())
        try outbox.apply(changes)
        trace?.deliveriesReported(reports)
        return QueueDrop(dropped: entries.count, underWay: 0)
    }

    // MARK: Look-ups

    /// The stores that contain deliveries, in list order.
    private var readers: [(place: StorePlace, reader: OutboxReader)] {
        guard case .running(let stores) = handle else { return [(.alone, files.outbox.own)] }
        return stores().map { ($0.place, $0.reader) }.sorted { $0.place < $1.place }
    }

    private var couriers: [StorePlace: Courier] {
        guard case .running(let stores) = handle else { return [:] }
        return Dictionary(stores().map { ($0.place, $0.courier) }) { first, _ in first }
    }

    /// Calls `body` with the selected deliveries, page by page, including some that arrive during the call.
    private func forEachPage(
        _ request: QueueRequest,
        in reader: OutboxReader,
        failed: Bool,
        _ body: ([QueueEntry], Timestamp) async throws -> Void
    ) async throws(OperationError) {
        var selection = request.selection
        (selection.isFailedWanted, selection.isWaitingWanted) = (failed, !failed)
        let devices = DeviceLookup(registry)
        var cursor = QueueCursor.start
        while true {
            do {
                let from = cursor
                let entries = try await onDisk { [selection] in
                    try $0.page(request, selection, in: reader, from, Self.page, devices)
                }
                guard let last = entries.last else { return }
                cursor = QueueCursor(after: last)
                try await body(entries, now())
            } catch {
                throw .unavailable("\(error)")
            }
        }
    }

    /// Runs `body` on a thread that may block on the disk, unlike the shared threads of tasks.
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
        in reader: OutboxReader,
        _ cursor: QueueCursor,
        _ limit: Int,
        _ devices: DeviceLookup
    ) throws -> [QueueEntry] {
        try reader.entries(selection, from: cursor, limit: limit) { device in
            guard let host = request.host else { return true }
            return try devices.host(of: device) == host
        }
    }

    /// Returns the events of the deliveries, if the trace has them.
    private func events(of entries: [QueueEntry]) -> [DeliveryID: EventID] {
        (try? files.trace?.reader.events(of: Set(entries.map(\.id)))) ?? [:]
    }
}

/// A cache of device look-ups. Used by one request only.
private final class DeviceLookup: Sendable {
    private let registry: Registry
    private let known = Mutex<[DeviceID: (isRegistered: Bool, host: String?)]>([:])

    init(_ registry: Registry) {
        self.registry = registry
    }

    /// Returns why a dead letter cannot be sent again; `nil` if it can.
    func blocker(to entry: QueueEntry, at moment: Timestamp) throws -> String? {
        if entry.mode == nil { return "unreadable" }
        if entry.isExpired(at: moment) { return "expired" }
        return try isRegistered(entry.device) ? nil : "unregistered"
    }

    func isRegistered(_ device: DeviceID) throws -> Bool { try find(device).isRegistered }

    func host(of device: DeviceID) throws -> String? { try find(device).host }

    private func find(_ device: DeviceID) throws -> (isRegistered: Bool, host: String?) {
        if let found = known.withLock({ $0[device] }) { return found }
        let address = try device.isOfIngress ? registry.ingressAddress(of: device) : registry.address(of: device)
        let found = (isRegistered: address != nil, host: address.flatMap { URLParts($0.token)?.origin.host })
        known.withLock { $0[device] = found }
        return found
    }
}

extension QueueEntry {
    fileprivate func isExpired(at now: Timestamp) -> Bool { expiresAt.map { $0 <= now } ?? false }
}
