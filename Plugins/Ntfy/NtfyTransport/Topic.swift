import PluginKit

/// A topic, as its URL names it: `https://ntfy.example.com/alerts`. Whoever knows the URL may read and write there, so it
/// is a secret.
struct Topic {
    static let urlLimit = 1000
    /// What ntfy takes for a topic.
    private static let nameLengths = 1...64
    /// Paths of ntfy's own.
    private static let reserved: Set<String> = [
        "docs", "static", "file", "app", "metrics", "account", "settings", "signup", "login", "v1",
    ]

    let name: String
    /// Where messages are posted that name their topic in their JSON: the topic's URL without its last part.
    let publishingURL: String

    /// Throws for a URL that is none of a topic.
    init(_ token: BorrowedText) throws(PluginError) {
        let mistake = PluginError(
            "token: expected a topic's URL such as https://ntfy.sh/my-alerts, at most \(Topic.urlLimit) bytes; a topic has "
                + "\(Topic.nameLengths.lowerBound) to \(Topic.nameLengths.upperBound) of A-Z, a-z, 0-9, _ and -"
        )
        guard (1...Topic.urlLimit).contains(token.count), let url = HTTPURL(token.string),
            let slash = url.target.lastIndex(of: "/")
        else { throw mistake }
        let name = url.target[url.target.index(after: slash)...]
        guard Topic.nameLengths.contains(name.utf8.count), name.utf8.allSatisfy(Topic.isNameByte),
            !Topic.reserved.contains(String(name))
        else { throw mistake }
        self.name = String(name)
        publishingURL = url.origin + url.target[...slash]
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
