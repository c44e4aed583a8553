/// HPACK's dynamic table, in the state of the peer's decoder (RFC 7541, sections 2.3.2 and 4).
struct DynamicTable {
    private struct Entry {
        let name: [UInt8]
        let value: [UInt8]

        /// The size as HPACK counts it.
        var size: Int { name.count + value.count + DynamicTable.overhead }
    }

    /// Every connection's initial limit, and this side's own limit even if the peer would hold more.
    static let initialLimit = 4_096
    /// The size of an entry in addition to its name and value.
    private static let overhead = 32

    /// The oldest first.
    private var entries: [Entry] = []
    private var used = 0
    private(set) var limit = DynamicTable.initialLimit

    /// The wire index of the newest entry with this name, and with this value if given.
    func index(of name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>? = nil) -> Int? {
        let place = entries.lastIndex { entry in
            name.equals(entry.name) && value.map { $0.equals(entry.value) } ?? true
        }
        return place.map { StaticTable.count + entries.count - $0 }
    }

    /// Whether an entry is worth its space: one that would evict most others is not.
    func hasRoom(forNameAndValue count: Int) -> Bool { 2 * (count + Self.overhead) <= limit }

    /// Inserts an entry if it fits.
    mutating func insert(name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>) {
        let entry = Entry(name: Array(name), value: Array(value))
        evict(until: limit - entry.size)
        entries.append(entry)
        used += entry.size
    }

    mutating func setLimit(_ limit: Int) {
        self.limit = limit
        evict(until: limit)
    }

    private mutating func evict(until limit: Int) {
        while used > limit, !entries.isEmpty { used -= entries.removeFirst().size }
    }
}

/// The first index of each name in HPACK's static table (RFC 7541, appendix A).
enum StaticTable {
    static let count = 61
    static let methodGET: UInt8 = 2
    static let methodPOST: UInt8 = 3
    static let schemeHTTP: UInt8 = 6
    static let schemeHTTPS: UInt8 = 7

    /// Nil if the table does not hold the name.
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
