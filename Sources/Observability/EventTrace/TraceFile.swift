import Core
import GRDB
import Nostr
import Push
import Storage

/// The database file of a ``TraceStore``.
struct TraceFile {
    /// How long the status of a device is kept.
    private static let deviceMemory: Duration = .days(90)

    private let queue: DatabaseQueue
    private var segments: TraceSegments
    private var lastNumber: Int64
    private var open = OpenDeliveries()
    /// Steps that wait for the end of their push.
    private var heldBack = HeldBack()

    /// Steps of pushes that were just queued: if the push ends soon, both are written in one row.
    private struct HeldBack {
        struct Place {
            let number: Int64
            let isOfCrowd: Bool
            let since: Timestamp
        }

        var entries = TraceRecords()
        /// One for each of `entries`.
        var places: [Place] = []
    }

    /// How long a step waits for the end of its push.
    static let timeout: Duration = .milliseconds(300)
    /// The maximum of waiting steps. A crowd's steps share rows in any case, and would take megabytes.
    private static let maxWaiting = 4_096

    /// The number of entries that wait for the next ``write(_:_:pauses:isLast:at:)``.
    var waiting: Int { heldBack.places.count }

    /// Opens or creates the file at `path`, readable only by this user. Throws a ``TraceError`` for another program's
    /// database, and SQLite's errors.
    init(path: String, limits: TraceLimits) throws {
        let file = TraceSchema.file(at: path)
        file.touch()
        let queue = try Self.open(path)
        switch try queue.read(file.state) {
        case .foreign: throw TraceError.foreign(path)
        case .ready: break
        case .outdated:
            try queue.close()
            file.remove()
            self = try TraceFile(path: path, limits: limits)
            return
        case .empty:
            try queue.write(file.makeTables)
        }
        try queue.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    PRAGMA journal_mode = WAL;
                    PRAGMA synchronous = NORMAL;
                    PRAGMA wal_autocheckpoint = \(TraceSchema.pagesBetweenCheckpoints);
                    PRAGMA journal_size_limit = \(TraceSchema.largestLog)
                    """
            )
        }
        self.queue = queue
        let stored = try queue.read(TraceSchema.segments)
        segments = TraceSegments(stored, limits: limits)
        lastNumber = try queue.read { try TraceSchema.lastNumber(in: $0, stored) }
    }

    private static func open(_ path: String) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.busyMode = .timeout(1)
        configuration.label = "carillon trace"
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    /// Writes the entries up to `now` in one transaction, and `pauses` if they changed; everything if this `isLast`.
    /// Returns the number of entries dropped by limits. If it throws, waiting entries are lost too.
    mutating func write(
        _ new: TraceRecords,
        _ devices: [DeviceID: DeviceStatus],
        pauses: [TracedPause]? = nil,
        isLast: Bool = true,
        at now: Timestamp
    ) throws -> Int {
        var segments = segments
        // Reports of deliveries that are lost with this write get separate rows.
        var (open, former): (OpenDeliveries, HeldBack) = (OpenDeliveries(), HeldBack())
        swap(&open, &self.open)
        swap(&former, &heldBack)
        let entries = RecordsOfWrite(former: former.entries, new: new)
        var places: [TracePlace] = []
        places.reserveCapacity(former.places.count + new.records.count)
        for (index, place) in former.places.enumerated() {
            let event = former.entries.records[index].event
            places.append(TracePlace(row: place.number, index: index, event: event, isOfCrowd: place.isOfCrowd))
        }
        var number = lastNumber
        var strays = 0
        for index in former.places.count..<former.places.count + new.records.count {
            let entry = entries[index]
            guard !entry.isStray || segments.admitsStray() else {
                strays += 1
                continue
            }
            number += 1
            let isOfCrowd = entry.owner.map { segments.belongsToCrowd($0) } ?? false
            let event = open.event(of: entry)
            places.append(TracePlace(row: number, index: index, event: event, isOfCrowd: isOfCrowd))
        }
        let waiting = isLast ? HeldBack() : Self.holdBack(&places, of: entries, former, open, at: now)
        let (usual, ofCrowd) = (places.filter { !$0.isOfCrowd }, places.filter(\.isOfCrowd))
        try queue.write { db in
            let rows = TraceRows(db: db)
            for (kind, places) in [(false, usual), (true, ofCrowd)] {
                var rest = places[...]
                while !rest.isEmpty {
                    let (segment, room, begins, dropped) = segments.makeSpace(for: rest.count, ofCrowd: kind, at: now)
                    if begins { try TraceSchema.begin(segment, in: db) }
                    for number in dropped { try TraceSchema.drop(number, in: db) }
                    let part = rest.prefix(room)
                    try rows.insert(entries, at: part, into: segment.number)
                    segments.add(part.count, to: segment.number)
                    rest = rest.dropFirst(part.count)
                }
            }
            try rows.put(devices, at: now)
            if let pauses { try rows.put(pauses) }
        }
        self.segments = segments
        self.open = open
        heldBack = waiting
        lastNumber = number
        return strays
    }

    /// Removes and returns the steps that wait for the end of their push.
    private static func holdBack(
        _ places: inout [TracePlace],
        of entries: RecordsOfWrite,
        _ former: HeldBack,
        _ open: OpenDeliveries,
        at now: Timestamp
    ) -> HeldBack {
        var waiting = HeldBack()
        places.removeAll { place in
            let since = place.index < former.places.count ? former.places[place.index].since : now
            // A clock that was set back ends the wait.
            guard waiting.places.count < maxWaiting, since <= now, now - since < timeout,
                open.isUnderWay(entries[place.index])
            else { return false }
            entries.copy(place.index, to: &waiting.entries)
            waiting.places.append(HeldBack.Place(number: place.row, isOfCrowd: place.isOfCrowd, since: since))
            return true
        }
        return waiting
    }

    /// Drops the entries that have expired by `now`.
    mutating func dropExpired(at now: Timestamp) throws {
        var segments = segments
        let expired = segments.expire(at: now)
        guard !expired.isEmpty else { return }
        try queue.write { db in
            for number in expired { try TraceSchema.drop(number, in: db) }
        }
        self.segments = segments
    }

    func forgetDevices(at now: Timestamp) throws {
        try queue.write { try TraceRows(db: $0).forgetDevices(unchangedSince: now - Self.deviceMemory) }
    }

    /// Behaves as if the disk were full from now on.
    func refuseToGrow() throws {
        try queue.writeWithoutTransaction { db in
            let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
            try db.execute(sql: "PRAGMA max_page_count = \(pages + 1)")
        }
    }

    func close() {
        try? queue.close()
    }
}

/// The events of unfinished deliveries, so that their reports go to the events' rows and need no separate index.
///
/// Only deliveries of a single event are tracked: those of events that were held together are looked up by delivery.
struct OpenDeliveries {
    /// About 3 MB. Reports of deliveries beyond it get separate rows.
    static let most = 32_768

    private var events: [DeliveryID: EventID] = [:]

    /// Whether an entry that was taken is the first of an unfinished push.
    func isUnderWay(_ entry: TraceRecord) -> Bool {
        guard entry.isWholePush, let delivery = entry.delivery else { return false }
        return events[delivery] != nil
    }

    /// The event under which an entry is found; entries must come in order.
    mutating func event(of entry: TraceRecord) -> EventID? {
        if let event = entry.event {
            if entry.isWholePush, let delivery = entry.delivery {
                if events.count >= Self.most { events.removeAll(keepingCapacity: true) }
                events[delivery] = event
            }
            return event
        }
        guard entry.isReport, let delivery = entry.delivery else { return nil }
        return entry.isEnd ? events.removeValue(forKey: delivery) : events[delivery]
    }
}
