import Delivery
import Nostr
import Units

/// What has to be known of an entry until it is written, beside its fields, which are packed already. It refers to no
/// memory of its own: an entry passes through several hands and threads, and its texts would be counted in each.
struct TraceRecord: Sendable {
    let time: Timestamp
    let event: EventID?
    /// Nil: nobody's in particular.
    var owner: TraceEntry.Owner?
    /// The delivery's id, if that is a UUID.
    let delivery: DeliveryWords?
    /// Whether any stranger can cause it at will.
    let isStray: Bool
    /// See ``TraceEntry/isWholePush``.
    let isWholePush: Bool
    let isReport: Bool
    /// Whether nothing more is reported of the delivery, but what operators do with it.
    let isEnd: Bool
    /// Where its fields are, and within them the delivery's id.
    fileprivate let fields: Range<Int>
    fileprivate let name: Range<Int>

    fileprivate init(_ entry: TraceEntry, fields: Range<Int>, name: Range<Int>, _ delivery: DeliveryWords?) {
        time = entry.time
        event = entry.event
        owner = entry.owner
        self.delivery = delivery
        isStray = entry.isStray
        isWholePush = entry.isWholePush
        if case .report(let report) = entry.what {
            (isReport, isEnd) = (true, report.isEnd)
        } else {
            (isReport, isEnd) = (false, false)
        }
        self.fields = fields
        self.name = name
    }

    /// The same elsewhere.
    fileprivate init(_ record: TraceRecord, fields: Range<Int>, name: Range<Int>) {
        time = record.time
        event = record.event
        owner = record.owner
        delivery = record.delivery
        isStray = record.isStray
        isWholePush = record.isWholePush
        isReport = record.isReport
        isEnd = record.isEnd
        self.fields = fields
        self.name = name
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
        let (name, delivery) = PackedEntries.pack(entry, into: &fields)
        records.append(TraceRecord(entry, fields: start..<fields.bytes.count, name: name, delivery))
    }

    /// Takes over an entry of others.
    mutating func append(_ index: Int, of others: TraceRecords) {
        let record = others.records[index]
        let move = fields.bytes.count - record.fields.lowerBound
        others.withFields(of: index) { fields.write(fixed: $0) }
        records.append(
            TraceRecord(
                record,
                fields: record.fields.lowerBound + move..<record.fields.upperBound + move,
                name: record.name.lowerBound + move..<record.name.upperBound + move
            )
        )
    }

    /// Lends the packed fields of an entry.
    func withFields<Result>(of index: Int, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try lend(records[index].fields, body)
    }

    /// Lends the id of its delivery, as rows have it; nothing where it has none.
    func withName<Result>(of index: Int, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try lend(records[index].name, body)
    }

    private func lend<Result>(
        _ place: Range<Int>,
        _ body: (UnsafeRawBufferPointer) throws -> Result
    ) rethrows -> Result {
        try fields.bytes.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0[place])) }
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

    func withName<Result>(of index: Int, _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        if index < former.count { return try former.withName(of: index, body) }
        return try new.withName(of: index - former.count, body)
    }

    /// Puts an entry among `others`.
    func copy(_ index: Int, to others: inout TraceRecords) {
        if index < former.count { return others.append(index, of: former) }
        others.append(index - former.count, of: new)
    }
}

/// The id of a delivery that is a UUID. It is made of a secret (`DeliveryIDs`), so nobody chooses where it falls in a
/// table.
struct DeliveryWords: Hashable, Sendable {
    let first: UInt64
    let second: UInt64

    /// The id as ``DeliveryName`` keeps it; nil for one that is no UUID.
    init?(_ name: UnsafeRawBufferPointer) {
        guard name.count == 16 else { return nil }
        (first, second) = name.loadUnaligned(as: (UInt64, UInt64).self)
    }

    func hash(into hasher: inout Hasher) { hasher.combine(first) }

    // What sets and dictionaries ask where they are of these values alone: what nobody chooses needs no better hash.
    func _rawHashValue(seed: Int) -> Int {
        let product = (first ^ UInt64(truncatingIfNeeded: seed)).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
        return Int(truncatingIfNeeded: product.high ^ product.low)
    }
}
