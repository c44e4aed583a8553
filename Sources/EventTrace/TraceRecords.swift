import Delivery
import Nostr
import Notifications
import Units

/// What has to be known of an entry until it is written, beside its fields, which are packed already. It refers to no
/// memory of its own: an entry passes through several hands and threads, and its texts would be counted in each.
struct TraceRecord: Sendable {
    let time: Timestamp
    let event: EventID?
    /// Nil: nobody's in particular.
    var owner: TraceEntry.Owner?
    let delivery: DeliveryID?
    /// Whether any stranger can cause it at will.
    let isStray: Bool
    /// See ``TraceEntry/isWholePush``.
    let isWholePush: Bool
    let isReport: Bool
    /// Whether nothing more is reported of the delivery, but what operators do with it.
    let isEnd: Bool
    /// Where its fields are.
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

/// Entries that wait to be written, in the order in which they came.
struct TraceRecords: Sendable {
    private var records: [TraceRecord] = []
    /// The fields of all of them, packed.
    private var fields = BlobWriter(capacity: 0)

    var count: Int { records.count }
    var isEmpty: Bool { records.isEmpty }

    /// How many entries there is memory for.
    var capacity: Int { records.capacity }

    /// How many bytes their fields have memory for.
    var fieldCapacity: Int { fields.bytes.capacity }

    subscript(index: Int) -> TraceRecord { records[index] }

    /// The owners of all entries that have one.
    var owners: some Sequence<TraceEntry.Owner> { records.lazy.compactMap(\.owner) }

    mutating func append(_ entry: TraceEntry) {
        let start = fields.bytes.count
        PackedEntries.pack(entry, into: &fields)
        records.append(TraceRecord(entry, fields: start..<fields.bytes.count))
    }

    /// Takes over an entry of others.
    mutating func append(_ index: Int, of others: TraceRecords) {
        var record = others.records[index]
        let start = fields.bytes.count
        others.withFields(of: index) { fields.write(fixed: $0) }
        record.fields = start..<fields.bytes.count
        records.append(record)
    }

    /// Lends the packed fields of an entry.
    func withFields<Result>(of index: Int, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        let place = records[index].fields
        return try fields.bytes.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[place])) }
    }

    /// Begins anew, in the same memory.
    mutating func removeAll() {
        records.removeAll(keepingCapacity: true)
        fields.removeAll()
    }
}

/// The entries of one write: those that waited, and new ones. They stay where they are.
struct RecordsOfWrite {
    let former: TraceRecords
    let new: TraceRecords

    subscript(index: Int) -> TraceRecord { index < former.count ? former[index] : new[index - former.count] }

    func withFields<Result>(of index: Int, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        if index < former.count { return try former.withFields(of: index, body) }
        return try new.withFields(of: index - former.count, body)
    }

    /// Puts an entry among `others`.
    func copy(_ index: Int, to others: inout TraceRecords) {
        if index < former.count { return others.append(index, of: former) }
        others.append(index - former.count, of: new)
    }
}
