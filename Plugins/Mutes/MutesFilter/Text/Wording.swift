import PluginKit

/// What an event says that a person reads: its text and its hashtags.
struct Wording {
    static let giftWraps: Set<Int64> = [1059, 21_059]
    /// What is in their content is encrypted, or no text.
    private static let withoutText: Set<Int64> = giftWraps.union([3, 4, 13])
    private static let reposts: Set<Int64> = [6, 16, 1809]
    private static let zapReceipt: Int64 = 9735

    let text: String
    let hashtags: [String]

    init(of event: NostrEvent) {
        let own = event.values(of: "t")
        switch event.kind {
        case let kind where Self.withoutText.contains(kind):
            text = ""
            hashtags = own
        case let kind where Self.reposts.contains(kind):
            // NIP-18: the reposted event as JSON, or nothing.
            let reposted = try? NostrEvent(parsing: event.content)
            text = reposted?.content ?? ""
            hashtags = own + (reposted?.values(of: "t") ?? [])
        case Self.zapReceipt:
            // NIP-57: the comment is in the request.
            let request = event.values(of: "description").first.flatMap { try? NostrEvent(parsing: $0) }
            text = request?.content ?? ""
            hashtags = own
        default:
            text = event.content
            hashtags = own
        }
    }
}
