import PluginKit

/// What an event says that a person reads: its text and its hashtags, prepared once for many lists.
struct Wording: Sendable {
    static let giftWraps: Set<Int64> = [1059, 21_059]
    /// What is in their content is encrypted, or no text.
    private static let withoutText: Set<Int64> = giftWraps.union([3, 4, 13])
    private static let reposts: Set<Int64> = [6, 16, 1809]
    private static let zapReceipt: Int64 = 9735

    let text: ReadableText
    /// Folded, without the sign.
    let hashtags: [String]

    init(of event: NostrEvent) {
        let (text, hashtags) = Self.words(of: event)
        self.text = ReadableText(text)
        self.hashtags = hashtags.map { String(MuteList.hashtag($0)) }
    }

    private static func words(of event: NostrEvent) -> (text: String, hashtags: [String]) {
        let own = event.values(of: "t")
        switch event.kind {
        case let kind where withoutText.contains(kind):
            return ("", own)
        case let kind where reposts.contains(kind):
            // NIP-18: the reposted event as JSON, or nothing.
            let reposted = try? NostrEvent(parsing: event.content)
            return (reposted?.content ?? "", own + (reposted?.values(of: "t") ?? []))
        case zapReceipt:
            // NIP-57: the comment is in the request.
            let request = event.values(of: "description").first.flatMap { try? NostrEvent(parsing: $0) }
            return (request?.content ?? "", own)
        default:
            return (event.content, own)
        }
    }
}
