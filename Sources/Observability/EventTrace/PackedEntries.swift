import Core
import Delivery
import Nostr
import Push

/// Entries in one row of a trace: those of an event within one write, or of a delivery whose event is unknown. A
/// separate row for each entry would cost several times as much.
///
/// Each entry is relative to the previous one: the difference of their numbers as LEB128, the milliseconds since, its
/// set of fields (``Has``), and those fields in their order. Texts and deliveries follow their length, which is 16 for
/// deliveries.
struct PackedEntries {
    private struct Has: OptionSet {
        let rawValue: UInt8

        static let event = Has(rawValue: 1)
        static let account = Has(rawValue: 2)
        static let device = Has(rawValue: 4)
        static let delivery = Has(rawValue: 8)
        static let report = Has(rawValue: 16)
        static let nextDue = Has(rawValue: 32)
    }

    private(set) var writer = BlobWriter(capacity: 1_024)
    /// The number of the first entry.
    private(set) var row: Int64 = 0
    private(set) var count = 0
    private var lastRow: Int64 = 0
    private var lastTime: Int64 = 0

    /// Removes all entries, but keeps the memory.
    mutating func removeAll() {
        writer.removeAll()
        count = 0
    }

    /// Adds an entry with a higher number than the previous ones; its `fields` come from ``pack(_:into:)``.
    mutating func append(_ fields: UnsafeRawBufferPointer, at time: Timestamp, row: Int64) {
        if count == 0 { (self.row, lastRow, lastTime) = (row, row, 0) }
        count += 1
        writer.write(UInt64(row - lastRow))
        writer.write(zigzag: time.milliseconds - lastTime)
        (lastRow, lastTime) = (row, time.milliseconds)
        writer.write(fixed: fields)
    }

    /// Appends an entry's packed fields to the writer. A longer reason is truncated.
    static func pack(_ entry: TraceEntry, into writer: inout BlobWriter) {
        var has: Has = []
        if entry.event != nil { has.insert(.event) }
        if entry.account != nil { has.insert(.account) }
        if entry.device != nil { has.insert(.device) }
        if entry.delivery != nil { has.insert(.delivery) }
        if case .report(let report) = entry.what {
            has.formUnion(report.nextDue == nil ? .report : [.report, .nextDue])
        }
        writer.write(byte: has.rawValue)
        entry.account?.bytes.withUnsafeBytes { writer.write(fixed: $0) }
        if let device = entry.device { writer.write(zigzag: device.rawValue) }
        if let delivery = entry.delivery {
            writer.write(UInt64(DeliveryID.byteCount))
            delivery.withBytes { writer.write(fixed: $0) }
        }
        writer.write(Self.line(entry.reason))
        switch entry.what {
        case .step(let word): writer.write(word)
        case .report(let report):
            writer.write(report.kind)
            writer.write(report.queue.platform)
            writer.write(report.queue.app)
            writer.write(zigzag: Int64(report.status))
            writer.write(zigzag: Int64(report.attempt))
            if let nextDue = report.nextDue { writer.write(zigzag: nextDue.milliseconds) }
        }
    }

    /// Reads `count` entries of packed bytes, the first with the number `row`. Those with an event have `event`. Throws
    /// a ``BlobError``.
    static func read(
        _ bytes: UnsafeRawBufferPointer,
        count: Int,
        row: Int64,
        event: EventID?,
        _ body: (Int64, TraceEntry) throws -> Void
    ) throws {
        var reader = BlobReader(bytes)
        var (row, time): (Int64, Int64) = (row, 0)
        for _ in 0..<count {
            row &+= Int64(bitPattern: try reader.integer())
            time &+= try reader.zigzag()
            let has = Has(rawValue: try reader.byte())
            let account = has.contains(.account) ? PublicKey(bytes: try reader.fixed(32)) : nil
            let device = has.contains(.device) ? DeviceID(rawValue: try reader.zigzag()) : nil
            let delivery = has.contains(.delivery) ? try delivery(&reader) : nil
            let reason = try reader.text()
            let word = try reader.text()
            var what = TraceEntry.Content.step(word)
            if has.contains(.report) {
                what = .report(
                    TraceEntry.Report(
                        kind: word,
                        queue: QueueName(platform: try reader.text(), app: try reader.text()),
                        status: Int(try reader.zigzag()),
                        attempt: Int(try reader.zigzag()),
                        nextDue: has.contains(.nextDue) ? Timestamp(milliseconds: try reader.zigzag()) : nil
                    )
                )
            }
            let entry = TraceEntry(
                time: Timestamp(milliseconds: time),
                what: what,
                event: has.contains(.event) ? event : nil,
                account: account,
                device: device,
                delivery: delivery,
                reason: reason
            )
            try body(row, entry)
        }
    }

    private static func delivery(_ reader: inout BlobReader) throws(BlobError) -> DeliveryID {
        let start = reader.offset
        guard let id = try reader.blob().withUnsafeBytes({ DeliveryID(bytes: $0) }) else {
            throw .invalidValue(field: "delivery", offset: start)
        }
        return id
    }

    /// Longer reasons are truncated, because strangers can make them long.
    private static let reasonBytes = 200

    /// One printable line.
    static func line(_ reason: String) -> String {
        // Nearly all are short ASCII, which needs no look at scalars.
        guard reason.utf8.count > reasonBytes || !reason.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            return reason
        }
        var line = ""
        for scalar in reason.unicodeScalars where !scalar.properties.isControl {
            guard line.utf8.count + UTF8.width(scalar) <= reasonBytes else { break }
            line.unicodeScalars.append(scalar)
        }
        return line
    }
}

extension Unicode.Scalar.Properties {
    fileprivate var isControl: Bool { generalCategory == .control || generalCategory == .lineSeparator }
}

/// The properties of an entry until it is written, next to its packed fields. It holds no references: entries pass
/// through several threads, and each would retain and release their strings.
struct TraceRecord: Sendable {
    let time: Timestamp
    let event: EventID?
    /// Nil: no owner.
    var owner: TraceEntry.Owner?
    let delivery: DeliveryID?
    /// Whether strangers can cause it at will.
    let isStray: Bool
    /// See ``TraceEntry/isWholePush``.
    let isWholePush: Bool
    let isReport: Bool
    /// Whether no more reports of the delivery follow, except for an operator's actions.
    let isEnd: Bool
    /// The position of its fields.
    fileprivate var fields: Range<Int>

    fileprivate init(_ entry: TraceEntry, fields: Range<Int>) {
        time = entry.time
        event = entry.event
        owner = entry.owner
        delivery = entry.delivery
        isStray = entry.isStray
        isWholePush = entry.isWholePush
        if case .report(let report) = entry.what {
            (isReport, isEnd) = (true, report.isEnd)
        } else {
            (isReport, isEnd) = (false, false)
        }
        self.fields = fields
    }
}

/// Entries that wait to be written, in order of arrival.
struct TraceRecords: Sendable {
    private(set) var records: [TraceRecord] = []
    /// The packed fields of all of them.
    private(set) var fields = BlobWriter(capacity: 0)

    mutating func append(_ entry: TraceEntry) {
        let start = fields.bytes.count
        PackedEntries.pack(entry, into: &fields)
        records.append(TraceRecord(entry, fields: start..<fields.bytes.count))
    }

    /// Takes an entry from `others`.
    mutating func append(_ index: Int, of others: TraceRecords) {
        var record = others.records[index]
        let start = fields.bytes.count
        others.withFields(of: index) { fields.write(fixed: $0) }
        record.fields = start..<fields.bytes.count
        records.append(record)
    }

    /// Passes the packed fields of an entry to `body`.
    func withFields<Result>(of index: Int, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        let place = records[index].fields
        return try fields.bytes.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[place])) }
    }

    /// Removes all entries, but keeps the memory.
    mutating func removeAll() {
        records.removeAll(keepingCapacity: true)
        fields.removeAll()
    }
}

/// The entries of one write: those that waited, and new ones. They are not moved.
struct RecordsOfWrite {
    let former: TraceRecords
    let new: TraceRecords

    subscript(index: Int) -> TraceRecord {
        index < former.records.count ? former.records[index] : new.records[index - former.records.count]
    }

    func withFields<Result>(of index: Int, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        if index < former.records.count { return try former.withFields(of: index, body) }
        return try new.withFields(of: index - former.records.count, body)
    }

    /// Copies an entry into `others`.
    func copy(_ index: Int, to others: inout TraceRecords) {
        if index < former.records.count { return others.append(index, of: former) }
        others.append(index - former.records.count, of: new)
    }
}

/// The destination of one entry of a write.
struct TracePlace {
    /// Its number.
    let row: Int64
    /// Its index among the entries.
    let index: Int
    /// The event under which it is found; nil: its delivery.
    let event: EventID?
    /// Whether it goes to the segments for owners of many entries.
    let isOfCrowd: Bool
}

/// Groups the entries of one write into rows: one row for an event's entries, in order, and one for each other entry.
struct TraceGroups {
    /// The maximum of entries in a row: reading part of a long history should not read all of it.
    private static let most = 256

    private struct Group {
        let first: Int
        var last: Int
        var count = 1
    }

    private let places: ArraySlice<TracePlace>
    private var groups: [Group] = []
    /// The next entry of the same row, by index.
    private var next: [Int]

    init(_ places: ArraySlice<TracePlace>) {
        self.places = places
        next = Array(repeating: -1, count: places.count)
        groups.reserveCapacity(places.count)
        var open: [EventID: Int] = [:]
        open.reserveCapacity(places.count)
        var latest: (event: EventID, group: Int)?
        for (place, entry) in places.enumerated() {
            guard let event = entry.event else {
                groups.append(Group(first: place, last: place))
                continue
            }
            // Entries of an event mostly come in a row.
            let known = latest?.event == event ? latest?.group : open[event]
            if let known, groups[known].count < Self.most {
                next[groups[known].last] = place
                groups[known].last = place
                groups[known].count += 1
                latest = (event, known)
            } else {
                groups.append(Group(first: place, last: place))
                open[event] = groups.count - 1
                latest = (event, groups.count - 1)
            }
        }
    }

    /// Calls `body` with each row's packed entries, and the place of the first.
    func forEach(of entries: RecordsOfWrite, _ body: (TracePlace, PackedEntries) throws -> Void) rethrows {
        var packed = PackedEntries()
        for group in groups {
            packed.removeAll()
            var place = group.first
            while place >= 0 {
                let entry = places[places.startIndex + place]
                let time = entries[entry.index].time
                entries.withFields(of: entry.index) { packed.append($0, at: time, row: entry.row) }
                place = next[place]
            }
            try body(places[places.startIndex + group.first], packed)
        }
    }
}
