import ASCII
import Cipher

/// What a request asks for, by its method and target.
enum IngressRoute: Equatable {
    /// `GET /`: whether the service runs.
    case status
    /// `POST /push/:device_token/:id`
    case push(PushResource)
    /// The path exists, but not for this method; `allow` names the others.
    case wrongMethod(allow: String)
    /// A path that never exists.
    case unknown

    init(method: String, target: String) {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = parts.first ?? ""
        let query = parts.count > 1 ? parts[1] : ""
        let segments = path.split(separator: "/", omittingEmptySubsequences: false)
        if path == "/" {
            self = ["GET", "HEAD"].contains(method) ? .status : .wrongMethod(allow: "GET, HEAD")
        } else if segments.count == 4, segments[0].isEmpty, segments[1] == "push" {
            guard method == "POST" else {
                self = .wrongMethod(allow: "POST")
                return
            }
            self = PushResource(token: segments[2], id: segments[3], query: query).map(Self.push) ?? .unknown
        } else {
            self = .unknown
        }
    }
}

/// The URL that an app gave to a push sender: a device, and an account on it (seed 001, "Client"). Secret.
struct PushResource: Equatable, Concealed {
    /// In hex digits, far more than any push service's token has.
    private static let longestToken = 512
    /// In bytes; apps put a UUID here.
    private static let longestID = 1024

    /// Lower-case hex digits, an even number.
    let deviceToken: String
    /// Identifies the account for the app; without percent encoding and control characters.
    let id: String
    /// Whether the token belongs to the platform's development environment.
    let isSandbox: Bool

    /// Nil for a URL that can never have worked: the sender should forget it.
    init?(token: Substring, id: Substring, query: Substring) {
        guard (2...Self.longestToken).contains(token.utf8.count), let bytes = Hex.decode(anyCase: token) else {
            return nil
        }
        guard let id = PercentEncoding.decode(id.utf8).flatMap({ String(validating: $0, as: UTF8.self) }),
            (1...Self.longestID).contains(id.utf8.count),
            !id.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
        else { return nil }
        deviceToken = Hex.encode(bytes)
        self.id = id
        isSandbox = query.split(separator: "&").contains("sandbox=true")
    }
}
