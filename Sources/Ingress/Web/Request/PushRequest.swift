/// A push message as it came, but for its URL (RFC 8030 section 5). Of a field that came on several lines, all of them.
struct PushRequest: Equatable {
    var contentEncoding: [String] = []
    var encryption: [String] = []
    var cryptoKey: [String] = []
    var ttl: [String] = []
    var urgency: [String] = []
    /// Nil when it was longer than anything that can be passed on.
    var body: [UInt8]? = []
}
