/// HPACK's dynamic table as the peer's decoder has it (RFC 7541, sections 2.3.2 and 4), entry by entry. Entries are
/// known by the numbers they were inserted under, which do not change when others come and go.
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

/// Where names stand first in HPACK's static table (RFC 7541, appendix A).
enum StaticTable {
    static let count = 61
    static let methodGET: UInt8 = 2
    static let methodPOST: UInt8 = 3
    static let schemeHTTP: UInt8 = 6
    static let schemeHTTPS: UInt8 = 7
    static let contentLength = 28

    /// Nil when it does not hold the name.
    static func index(of name: UnsafeBufferPointer<UInt8>) -> Int? {
        names.first { name.equals($0.name) }?.index
    }

    private static let names: [(name: StaticString, index: Int)] = [
        (":authority", 1), (":method", 2), (":path", 4), (":scheme", 6), (":status", 8), ("accept-charset", 15),
        ("accept-encoding", 16), ("accept-language", 17), ("accept-ranges", 18), ("accept", 19),
        ("access-control-allow-origin", 20), ("age", 21), ("allow", 22), ("authorization", 23), ("cache-control", 24),
        ("content-disposition", 25), ("content-encoding", 26), ("content-language", 27), ("content-length", 28),
        ("content-location", 29), ("content-range", 30), ("content-type", 31), ("cookie", 32), ("date", 33),
        ("etag", 34), ("expect", 35), ("expires", 36), ("from", 37), ("host", 38), ("if-match", 39),
        ("if-modified-since", 40), ("if-none-match", 41), ("if-range", 42), ("if-unmodified-since", 43),
        ("last-modified", 44), ("link", 45), ("location", 46), ("max-forwards", 47), ("proxy-authenticate", 48),
        ("proxy-authorization", 49), ("range", 50), ("referer", 51), ("refresh", 52), ("retry-after", 53),
        ("server", 54), ("set-cookie", 55), ("strict-transport-security", 56), ("transfer-encoding", 57),
        ("user-agent", 58), ("vary", 59), ("via", 60), ("www-authenticate", 61),
    ]
}
