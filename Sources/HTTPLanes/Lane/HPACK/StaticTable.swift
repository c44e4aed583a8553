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
