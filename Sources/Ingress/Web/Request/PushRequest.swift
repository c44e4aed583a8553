import Notifications
import Units

/// A push message as it came, without its URL (RFC 8030 section 5). A field holds all of its lines.
struct PushRequest: Equatable {
    var contentEncoding: [String] = []
    var encryption: [String] = []
    var cryptoKey: [String] = []
    var ttl: [String] = []
    var urgency: [String] = []
    /// Nil when it is too long to be passed on.
    var body: [UInt8]? = []
}

/// A message's urgency and lifetime (RFC 8030 section 5.2 and 5.3). Both are optional, as our predecessor never asked
/// for them.
struct MessageTerms: Equatable {
    /// The longest lifetime.
    private static let longestLife: Duration = .days(30)
    /// The shortest lifetime: the time for "now or never" to reach the push service.
    private static let shortestLife: Duration = .minutes(1)

    let urgency: Urgency
    /// When the push service should give up; the epoch: it decides.
    let expiresAt: Timestamp

    /// Invalid values count as absent.
    init(_ request: PushRequest, now: Timestamp) {
        urgency =
            switch Self.word(request.urgency) {
            case "very-low", "low": .low
            case "high": .high
            default: .normal
            }
        let ttl = Self.word(request.ttl)
        guard let ttl, !ttl.isEmpty, ttl.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            expiresAt = .epoch
            return
        }
        // A number with too many digits means a long time, too.
        let seconds = min(Int64(ttl) ?? .max, Self.longestLife.seconds)
        expiresAt = now + max(.seconds(seconds), Self.shortestLife)
    }

    private static func word(_ lines: [String]) -> String? {
        lines.last.map { $0.lowercased().filter { $0 != " " && $0 != "\t" } }
    }
}
