import Cipher
import Core
import Push

/// A received push message without its URL (RFC 8030 section 5). A field holds all of its lines.
struct PushRequest: Equatable {
    var contentEncoding: [String] = []
    var encryption: [String] = []
    var cryptoKey: [String] = []
    var ttl: [String] = []
    var urgency: [String] = []
    /// Nil if it is too long to pass on.
    var body: [UInt8]? = []
}

/// A message's urgency and lifetime (RFC 8030 section 5.2 and 5.3). Both are optional for compatibility with
/// metatext-apns.
struct MessageTerms: Equatable {
    /// The longest lifetime.
    private static let longestLife: Duration = .days(30)
    /// The shortest lifetime: the time a "now or never" message needs to reach the push service.
    private static let shortestLife: Duration = .minutes(1)

    let urgency: Urgency
    /// When the push service should give up; the epoch: the service decides.
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
        // A number with too many digits counts as the longest lifetime.
        let seconds = min(Int64(ttl) ?? .max, Self.longestLife.seconds)
        expiresAt = now + max(.seconds(seconds), Self.shortestLife)
    }

    private static func word(_ lines: [String]) -> String? {
        lines.last.map { $0.lowercased().filter { $0 != " " && $0 != "\t" } }
    }
}

/// The target of a request, by method and path.
enum IngressRoute: Equatable {
    /// `GET /`: the service's status.
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

/// The secret URL that an app gave to a push sender: a device, and an account on it.
struct PushResource: Equatable, Concealed {
    /// In hex digits; far longer than any push service's token.
    private static let longestToken = 512
    /// In bytes; apps use a UUID.
    private static let longestID = 1024

    /// An even number of lower-case hex digits.
    let deviceToken: String
    /// The app's ID of the account; no percent encoding, no control characters.
    let id: String
    /// Whether the token belongs to the platform's development environment.
    let isSandbox: Bool

    /// Returns nil for a URL that can never have worked: the sender should delete it.
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

/// The parts that an app needs to decrypt a push message. The router cannot decrypt it.
struct EncryptedMessage: Equatable {
    enum Coding: String {
        /// draft-ietf-webpush-encryption-04, as Mastodon sends it: salt and key are in the header.
        case aesgcm
        /// RFC 8291: the body starts with salt and key.
        case aes128gcm
    }

    /// Bytes of a tag and of the padding's length.
    private static let leastCiphertext: [Coding: Int] = [.aesgcm: 18, .aes128gcm: 17]

    let coding: Coding
    /// 16 bytes.
    let salt: [UInt8]
    /// The sender's key for this message, an uncompressed point of 65 bytes.
    let senderKey: [UInt8]
    /// The whole body.
    let body: [UInt8]

    /// Returns nil for a message that no app can decrypt: another coding, a missing or invalid salt or key, or a body
    /// that is too short.
    init?(_ request: PushRequest) {
        guard let body = request.body, let coding = Self.coding(request.contentEncoding) else { return nil }
        switch coding {
        case .aesgcm:
            let encryption = FieldParameters(request.encryption).set(with: "salt")
            let cryptoKey = FieldParameters(request.cryptoKey).set(with: "dh", of: encryption)
            guard let salt = encryption?["salt"].flatMap(Self.decode), let key = cryptoKey?["dh"].flatMap(Self.decode)
            else { return nil }
            self.init(coding: coding, salt: salt, senderKey: key, body: body, ciphertextCount: body.count)
        case .aes128gcm:
            guard let header = try? AES128GCMHeader(startOf: body) else { return nil }
            self.init(
                coding: coding,
                salt: header.salt,
                senderKey: header.keyIdentifier,
                body: body,
                ciphertextCount: body.count - header.byteCount
            )
        }
    }

    private init?(coding: Coding, salt: [UInt8], senderKey: [UInt8], body: [UInt8], ciphertextCount: Int) {
        guard salt.count == AES128GCMHeader.saltByteCount, senderKey.count == 65, senderKey.first == 0x04,
            ciphertextCount >= Self.leastCiphertext[coding, default: 0]
        else { return nil }
        self.coding = coding
        self.salt = salt
        self.senderKey = senderKey
        self.body = body
    }

    /// The only coding in `Content-Encoding`. Default: the legacy one, as metatext-apns assumed.
    private static func coding(_ lines: [String]) -> Coding? {
        let codings = lines.flatMap { $0.split(separator: ",") }
            .map { $0.lowercased().filter { $0 != " " && $0 != "\t" } }
            .filter { !$0.isEmpty && $0 != "identity" }
        guard let first = codings.first else { return .aesgcm }
        return codings.count == 1 ? Coding(rawValue: first) : nil
    }

    /// Accepts both base64 alphabets, with or without padding.
    private static func decode(_ text: String) -> [UInt8]? {
        Base64URL.decode(text) ?? Base64.decode(text)
    }
}

/// The parameters of `Encryption` and `Crypto-Key` (draft-ietf-httpbis-encryption-encoding): sets of names and values.
/// Senders disagree about `;` and `,`, quotes and padding, so all variants are accepted.
struct FieldParameters: Equatable {
    /// In line order, with lower-case names; the last value of a repeated name counts.
    let sets: [[String: String]]

    /// Reads the lines of one field, which form one value (RFC 9110 section 5.3).
    init(_ lines: [String]) {
        var reader = Reader()
        for line in lines {
            for byte in line.utf8 { reader.read(byte) }
            reader.endSet()
        }
        sets = reader.sets
    }

    /// The last set with `name`, preferably with the same `keyid` as `other`.
    func set(with name: String, of other: [String: String]? = nil) -> [String: String]? {
        let candidates = sets.filter { $0[name] != nil }
        guard let keyID = other?["keyid"] else { return candidates.last }
        return candidates.last { $0["keyid"] == keyID } ?? candidates.last
    }

    private struct Reader {
        var sets: [[String: String]] = []
        private var set: [String: String] = [:]
        private var name: [UInt8]?
        private var text: [UInt8] = []
        private var isQuoted = false
        private var isEscaped = false

        mutating func read(_ byte: UInt8) {
            if isEscaped {
                isEscaped = false
                text.append(byte)
                return
            }
            switch byte {
            case UInt8(ascii: "\\") where isQuoted: isEscaped = true
            case UInt8(ascii: "\""): isQuoted.toggle()
            case _ where isQuoted: text.append(byte)
            case UInt8(ascii: ";"): endParameter()
            case UInt8(ascii: ","): endSet()
            case UInt8(ascii: "=") where name == nil:
                name = text
                text = []
            case UInt8(ascii: " "), UInt8(ascii: "\t"): break
            default: text.append(byte)
            }
        }

        mutating func endSet() {
            endParameter()
            if !set.isEmpty { sets.append(set) }
            set = [:]
        }

        private mutating func endParameter() {
            if let name, !name.isEmpty {
                set[String(decoding: name, as: UTF8.self).lowercased()] = String(decoding: text, as: UTF8.self)
            }
            name = nil
            text = []
            isQuoted = false
            isEscaped = false
        }
    }
}
