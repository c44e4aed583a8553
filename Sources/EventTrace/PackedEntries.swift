import Delivery
import Foundation
import Nostr
import Notifications
import Units

/// Entries that are found together, as one row of a trace holds them: what became of an event within one write, or of a
/// delivery whose event is not at hand. A row of its own for each entry would cost several times as much.
///
/// Each entry continues from the one before it: how many entries of others lie between, as LEB128, the milliseconds
/// between, what it has (``Has``), and those fields in their order. Texts and deliveries follow their length.
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

    private var writer = BlobWriter(capacity: 1_024)
    /// The number of the first entry.
    private(set) var row: Int64 = 0
    private(set) var count = 0
    private var lastRow: Int64 = 0
    private var lastTime: Int64 = 0

    var bytes: [UInt8] { writer.bytes }

    /// Begins anew, in the same memory.
    mutating func removeAll() {
        writer.removeAll()
        count = 0
    }

    /// Adds an entry with a number higher than those before it. A longer reason is cut off.
    mutating func append(_ entry: TraceEntry, row: Int64) {
        if count == 0 { (self.row, lastRow, lastTime) = (row, row, 0) }
        count += 1
        writer.write(UInt64(row - lastRow))
        writer.write(zigzag: entry.time.milliseconds - lastTime)
        (lastRow, lastTime) = (row, entry.time.milliseconds)
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
            DeliveryName.withBytes(delivery) { name in
                writer.write(UInt64(name.count))
                writer.write(fixed: name)
            }
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

    /// Reads so many entries of ``bytes``, the first with the number `row`. Those with an event have `event`. Throws a
    /// ``BlobError``.
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
            let delivery = has.contains(.delivery) ? DeliveryName.text(Data(try reader.blob())) : nil
            let reason = try reader.text()
            let word = try reader.text()
            var what = TraceEntry.What.step(word)
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

    /// Longer reasons are cut off: strangers can make them long.
    private static let reasonBytes = 200

    /// One printable line.
    static func line(_ reason: String) -> String {
        // Nearly all are a few plain words, which need no look at scalars.
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

/// The entries of one write: those that waited, and new ones. They are large, so they stay where they are.
struct EntriesOfWrite {
    let former: [TraceEntry]
    let new: [TraceEntry]

    // Not a coroutine: that would ask for memory each time.
    subscript(index: Int) -> TraceEntry { index < former.count ? former[index] : new[index - former.count] }
}

/// Where one entry of a write goes.
struct TracePlace {
    /// Its number.
    let row: Int64
    /// Its place among the entries.
    let index: Int
    /// The event that it is found with; nil: it is found by its delivery.
    let event: EventID?
    /// Whether it belongs to the crowd's segments.
    let isOfCrowd: Bool
}

/// Divides entries of one write into rows: those of an event go together, in their order, and each of the others by
/// itself.
struct TraceGroups {
    /// How many entries a row has at most: reading a part of a long history should not read all of it.
    private static let most = 256

    private struct Group {
        let first: Int
        var last: Int
        var count = 1
    }

    private let places: ArraySlice<TracePlace>
    private var groups: [Group] = []
    /// The next entry of the same row, by place.
    private var next: [Int]

    init(_ places: ArraySlice<TracePlace>) {
        self.places = places
        next = Array(repeating: -1, count: places.count)
        var open: [EventID: Int] = [:]
        var latest: (event: EventID, group: Int)?
        for (place, entry) in places.enumerated() {
            guard let event = entry.event else {
                groups.append(Group(first: place, last: place))
                continue
            }
            // Entries of an event come in a row, mostly.
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

    /// Calls `body` with each row's entries, packed, and the place of the first.
    func forEach(of entries: EntriesOfWrite, _ body: (TracePlace, PackedEntries) throws -> Void) rethrows {
        var packed = PackedEntries()
        for group in groups {
            packed.removeAll()
            var place = group.first
            while place >= 0 {
                let entry = places[places.startIndex + place]
                packed.append(entries[entry.index], row: entry.row)
                place = next[place]
            }
            try body(places[places.startIndex + group.first], packed)
        }
    }
}

/// The events of deliveries that have not ended yet, so that what is reported of them goes to their events' rows and
/// needs no index of its own.
///
/// Only of deliveries that nobody but one event knows: what was held together is looked for by its delivery.
struct OpenDeliveries {
    private struct Name: Hashable {
        let words: (UInt64, UInt64)

        init?(_ id: String) {
            let words = DeliveryName.withBytes(id) { bytes in
                bytes.count == 16 ? bytes.loadUnaligned(as: (UInt64, UInt64).self) : nil
            }
            guard let words else { return nil }
            self.words = words
        }

        static func == (left: Name, right: Name) -> Bool { left.words == right.words }

        func hash(into hasher: inout Hasher) {
            hasher.combine(words.0)
            hasher.combine(words.1)
        }
    }

    /// Some 3 MB. What is more than that is forgotten, and its reports get rows of their own.
    static let most = 32_768

    private var events: [Name: EventID] = [:]

    /// Whether an entry that was taken is the first of a push that has not ended.
    func isUnderWay(_ entry: TraceEntry) -> Bool {
        guard entry.isWholePush, let name = entry.delivery.flatMap(Name.init) else { return false }
        return events[name] != nil
    }

    /// The event that an entry is found with; entries are to come in their order.
    mutating func event(of entry: TraceEntry) -> EventID? {
        if let event = entry.event {
            if let delivery = entry.delivery, entry.isWholePush, let name = Name(delivery) {
                if events.count >= Self.most { events.removeAll(keepingCapacity: true) }
                events[name] = event
            }
            return event
        }
        guard case .report(let report) = entry.what, let name = entry.delivery.flatMap(Name.init) else { return nil }
        return report.isEnd ? events.removeValue(forKey: name) : events[name]
    }
}
