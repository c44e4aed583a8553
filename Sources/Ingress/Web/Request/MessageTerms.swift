import Notifications

/// What a sender asks for besides: how soon, and for how long (RFC 8030 section 5.2 and 5.3). Neither is demanded, as what came
/// before us never asked for it.
struct MessageTerms: Equatable {
    /// The longest that Apple keeps anything, in milliseconds: 30 days.
    private static let longestLife: Int64 = 30 * 86_400_000
    /// What "now or never" gets for the way to the push service, in milliseconds.
    private static let shortestLife: Int64 = 60_000

    let urgency: Urgency
    /// When a push service should give up, in milliseconds since 1970; 0: whenever it does by itself.
    let expiresAt: Int64

    /// `now` is in milliseconds since 1970. What is no number and no known word says nothing.
    init(_ request: PushRequest, now: Int64) {
        urgency =
            switch Self.word(request.urgency) {
            case "very-low", "low": .low
            case "high": .high
            default: .normal
            }
        let ttl = Self.word(request.ttl)
        guard let ttl, !ttl.isEmpty, ttl.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            expiresAt = 0
            return
        }
        // More digits than fit are a long time too.
        let seconds = min(Int64(ttl) ?? .max, Self.longestLife / 1000)
        expiresAt = now + max(seconds * 1000, Self.shortestLife)
    }

    private static func word(_ lines: [String]) -> String? {
        lines.last.map { $0.lowercased().filter { $0 != " " && $0 != "\t" } }
    }
}
