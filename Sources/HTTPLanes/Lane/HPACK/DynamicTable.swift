/// HPACK's dynamic table as the peer's decoder has it (RFC 7541, sections 2.3.2 and 4), entry by entry. Entries are known
/// by the numbers they were inserted under, which do not change when others come and go.
struct DynamicTable: ~Copyable {
    private struct Entry {
        var value: UnsafeMutablePointer<UInt8>?
        var valueCount = 0
        /// As HPACK counts it.
        var size = 0
        /// The number of the one before with the same name.
        var previous = DynamicTable.none
    }

    /// The number of no entry.
    static let none = -1
    /// What one entry takes besides its name and value.
    static let overhead = 32

    /// No more can be live than the largest table has room for.
    private var entries = [Entry](repeating: Entry(), count: 128)
    private var oldest = 0
    private var next = 0
    private var used = 0
    private(set) var limit = DynamicTable.initialLimit

    deinit {
        for entry in entries { entry.value?.deallocate() }
    }

    func isLive(_ number: Int) -> Bool { number >= oldest }

    /// The index that stands for a live entry on the wire.
    func index(of number: Int) -> Int { StaticTable.count + next - number }

    /// Whether an entry is worth its room: one that would push out most others is not.
    func hasRoom(forNameAndValue count: Int) -> Bool { 2 * (count + Self.overhead) <= limit }

    /// A live entry with this value, among the latest few with one name.
    func find(_ value: UnsafeBufferPointer<UInt8>, from latest: Int) -> Int? {
        var number = latest
        for _ in 0..<Self.searched {
            guard isLive(number) else { return nil }
            let entry = entries[number & Self.mask]
            if UnsafeBufferPointer(start: entry.value, count: entry.valueCount).equals(value) { return number }
            number = entry.previous
        }
        return nil
    }

    /// Inserts what has room; returns its number.
    mutating func insert(nameCount: Int, value: UnsafeBufferPointer<UInt8>, previous: Int) -> Int {
        let size = nameCount + value.count + Self.overhead
        evict(until: limit - size)
        let copy = UnsafeMutablePointer<UInt8>.allocate(capacity: max(value.count, 1))
        if let base = value.baseAddress { copy.update(from: base, count: value.count) }
        let number = next
        entries[number & Self.mask] = Entry(value: copy, valueCount: value.count, size: size, previous: previous)
        used += size
        next += 1
        return number
    }

    mutating func setLimit(_ limit: Int) {
        self.limit = limit
        evict(until: limit)
    }

    private mutating func evict(until limit: Int) {
        while used > limit, oldest < next {
            used -= entries[oldest & Self.mask].size
            entries[oldest & Self.mask].value?.deallocate()
            entries[oldest & Self.mask] = Entry()
            oldest += 1
        }
    }

    /// What every connection begins with, and what this side keeps to even if the peer would hold more.
    static let initialLimit = 4_096
    private static let mask = 127
    private static let searched = 16
}
