import Delivery
import Nostr
import Notifications
import Units

/// Entries that are found together, as one row of a trace holds them: what became of an event within one write, or of a
/// delivery whose event is not at hand. A row of its own for each entry would cost several times as much.
///
/// Each entry continues from the one before it: how many entries of others lie between, as LEB128, the milliseconds
/// between, what it has (``Has``), and those fields in their order. Texts and deliveries follow their length, which is
/// 16 for deliveries.
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

    /// Adds an entry with a number higher than those before it; its `fields` are what ``pack(_:into:)`` made.
    mutating func append(_ fields: UnsafeRawBufferPointer, at time: Timestamp, row: Int64) {
        if count == 0 { (self.row, lastRow, lastTime) = (row, row, 0) }
        count += 1
        writer.write(UInt64(row - lastRow))
        writer.write(zigzag: time.milliseconds - lastTime)
        (lastRow, lastTime) = (row, time.milliseconds)
        writer.write(fixed: fields)
    }

    /// Packs the fields of an entry behind what the writer has. A longer reason is cut off.
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
            let delivery = has.contains(.delivery) ? try delivery(&reader) : nil
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

    private static func delivery(_ reader: inout BlobReader) throws(BlobError) -> DeliveryID {
        let start = reader.offset
        guard let id = try reader.blob().withUnsafeBytes({ DeliveryID(bytes: $0) }) else {
            throw .invalidValue(field: "delivery", offset: start)
        }
        return id
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
