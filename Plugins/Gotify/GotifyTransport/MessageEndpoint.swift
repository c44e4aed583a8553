import PluginKit

/// Where messages of one application go: `https://gotify.example.com/message?token=A…`, as Gotify shows it. The token is the
/// secret, and travels in a header.
struct MessageEndpoint {
    static let limit = 1000
    private static let query = "?token="

    /// Without the token.
    let url: String
    let applicationToken: String

    /// Throws for a URL that is none of an application's messages.
    init(_ token: BorrowedText) throws(PluginError) {
        let mistake = PluginError(
            "token: expected an application's URL such as https://gotify.example.com/message?token=A…, at most "
                + "\(MessageEndpoint.limit) bytes"
        )
        guard (1...MessageEndpoint.limit).contains(token.count), let url = HTTPURL(token.string),
            let query = url.target.firstRange(of: MessageEndpoint.query),
            url.target[..<query.lowerBound].hasSuffix("/message")
        else { throw mistake }
        let secret = url.target[query.upperBound...]
        guard !secret.isEmpty, secret.utf8.allSatisfy(MessageEndpoint.isTokenByte) else { throw mistake }
        self.url = url.origin + url.target[..<query.lowerBound]
        applicationToken = String(secret)
    }

    /// Old tokens are letters, digits, `.`, `_` and `-`; the enhanced ones are base64url and dots.
    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."):
            true
        default: false
        }
    }
}
