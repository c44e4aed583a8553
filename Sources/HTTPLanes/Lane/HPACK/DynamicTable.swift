/// HPACK's dynamic table as the peer's decoder has it (RFC 7541, sections 2.3.2 and 4), entry by entry. Entries are known
/// by the numbers they were inserted under, which do not change when others come and go.
struct DynamicTable: ~Copyable {
    private struct Entry {
        /// The name and behind it the value.
        var text: UnsafeMutablePointer<UInt8>?
        var nameCount = 0
        var valueCount = 0
        /// The number of the one before with the same name.
        var previous = DynamicTable.none

        /// As HPACK counts it.
        var size: Int { nameCount + valueCount + DynamicTable.overhead }
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
        for entry in entries { entry.text?.deallocate() }
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
            if value.count == entry.valueCount, let text = entry.text,
                UnsafeBufferPointer(start: text + entry.nameCount, count: entry.valueCount).equals(value)
            {
                return number
            }
            number = entry.previous
        }
        return nil
    }

    /// Whether `number` is live and stands for just this field.
    func holds(_ number: Int, name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) -> Bool {
        guard isLive(number) else { return false }
        let entry = entries[number & Self.mask]
        guard entry.nameCount == name.count, entry.valueCount == value.count, let text = entry.text else {
            return false
        }
        return UnsafeBufferPointer(start: text, count: name.count).equals(name)
            && UnsafeBufferPointer(start: text + name.count, count: value.count).equals(value)
    }

    /// Inserts what has room; returns its number.
    mutating func insert(
        name: UnsafeBufferPointer<UInt8>,
        value: UnsafeBufferPointer<UInt8>,
        previous: Int
    ) -> Int {
        let text = UnsafeMutablePointer<UInt8>.allocate(capacity: max(name.count + value.count, 1))
        if let base = name.baseAddress { text.update(from: base, count: name.count) }
        if let base = value.baseAddress { (text + name.count).update(from: base, count: value.count) }
        let entry = Entry(text: text, nameCount: name.count, valueCount: value.count, previous: previous)
        evict(until: limit - entry.size)
        let number = next
        entries[number & Self.mask] = entry
        used += entry.size
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
            entries[oldest & Self.mask].text?.deallocate()
            entries[oldest & Self.mask] = Entry()
            oldest += 1
        }
    }

    /// What every connection begins with, and what this side keeps to even if the peer would hold more.
    static let initialLimit = 4_096
    private static let mask = 127
    private static let searched = 16
}
