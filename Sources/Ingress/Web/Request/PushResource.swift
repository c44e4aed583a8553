import Cipher

/// The URL that an app handed to a push sender: whose device, and which account on it (seed 001, "Client"). Secret.
struct PushResource: Equatable, Concealed {
    /// What no push service's token comes near, in hex digits.
    private static let longestToken = 512
    /// In bytes; apps put a UUID here.
    private static let longestID = 1024

    /// Lower-case hex digits, an even number.
    let deviceToken: String
    /// What names the account to the app, without percent encoding and control characters.
    let id: String
    /// Whether the token is one of Apple's development environment.
    let isSandbox: Bool

    /// Nil where a URL of this form can never have worked: the sender had better forget it.
    init?(token: Substring, id: Substring, query: Substring) {
        guard (2...Self.longestToken).contains(token.utf8.count), let bytes = Hex.decode(anyCase: token) else {
            return nil
        }
        guard let id = PercentEncoding.decode(id), (1...Self.longestID).contains(id.utf8.count),
            !id.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
        else { return nil }
        deviceToken = Hex.encode(bytes)
        self.id = id
        isSandbox = query.split(separator: "&").contains("sandbox=true")
    }
}
