import Core
import PluginKit

/// The configuration block of one app.
struct EmailConfiguration: Sendable {
    /// How the connection is encrypted.
    enum Security: String, CaseIterable, Sendable {
        /// Plain text first, then TLS before any credentials are sent (RFC 3207).
        case startTLS = "starttls"
        /// TLS from the first byte (RFC 8314).
        case tls
        case none

        fileprivate var usualPort: Int64 {
            switch self {
            case .startTLS: 587
            case .tls: 465
            case .none: 25
            }
        }
    }

    let server: MailServer
    /// The maximum number of connections.
    let connections: Int
    let sender: MessageSender
    /// The domains whose addresses may be registered, in lower case; empty: all.
    let domains: Set<String>

    /// Throws for the first error, with its key and the expected value.
    init(_ block: JSONObject) throws(PluginError) {
        try block.refuseMembers(
            except: [
                "server", "port", "security", "username", "password", "password_file", "authority_file", "hello",
                "connections", "idle_seconds", "from", "from_name", "return_path", "reply_to", "list_id",
                "unsubscribe_mailto",
                "unsubscribe_url", "footer", "domains", "wake_message", "batch_message",
            ]
        )
        sender = try MessageSender(block)
        server = try MailServer(block, usualName: sender.from.domain)
        connections = Int(try block.integer("connections", in: 1...16) ?? 2)
        var domains: Set<String> = []
        for domain in try block.texts("domains", expected: "domains such as example.com") {
            guard EmailAddress("x@\(domain)") != nil else {
                throw PluginError("domains: expected domains such as example.com, found another text")
            }
            domains.insert(domain.lowercased())
        }
        self.domains = domains
    }
}

/// The operator's mail server, and the name and account that we use there.
struct MailServer: Sendable {
    let security: EmailConfiguration.Security
    let target: StreamTarget
    /// Our name in EHLO.
    let hello: String
    let credentials: Credentials?

    struct Credentials: Sendable {
        let username: String
        let password: String
    }

    /// Reads the server; `usualName` is our name if the block sets none.
    fileprivate init(_ block: JSONObject, usualName: String) throws(PluginError) {
        let expected = "the mail server's name, such as smtp.example.com"
        let host = try block.requiredText("server", expected: expected)
        // The syntax of a URL's host is strict enough.
        guard let url = HTTPURL("http://\(host.contains(":") ? "[\(host)]" : host)"), url.target.isEmpty,
            host.contains(":") || !url.origin.dropFirst(7).contains(":")
        else { throw PluginError("server: expected \(expected), found another text") }
        security = try block.choice("security", EmailConfiguration.Security.self) ?? .startTLS
        let port = try block.integer("port", in: 1...65_535) ?? security.usualPort
        var target = StreamTarget(host: host, port: UInt16(clamping: port))
        target.usesTLS = security == .tls
        target.connectTimeout = .seconds(20)
        target.idleTimeout = .seconds(try block.integer("idle_seconds", in: 10...300) ?? 60)
        if let file = try block.file("authority_file", expected: "the path of a certificate in PEM") {
            target.authorities = try file.text()
        }
        self.target = target
        hello = try MailServer.hello(block) ?? usualName
        credentials = try MailServer.credentials(block, security)
    }

    private static func hello(_ block: JSONObject) throws(PluginError) -> String? {
        let expected = "this machine's public name, such as push.example.com"
        guard let name = try block.text("hello", expected: expected) else { return nil }
        guard (1...253).contains(name.utf8.count),
            name.utf8.allSatisfy({ $0.isASCIILetterOrDigit || $0.isOne(of: "-.[]:") })
        else { throw PluginError("hello: expected \(expected), found another text") }
        return name
    }

    private static func credentials(
        _ block: JSONObject,
        _ security: EmailConfiguration.Security
    ) throws(PluginError) -> Credentials? {
        let username = try block.text("username", expected: "the account at the mail server")
        let password = try block.secret("password", file: "password_file", expected: "the account's password")
        switch (username, password) {
        case (nil, nil): return nil
        case (let username?, let password?):
            guard security != .none else {
                throw PluginError("password: expected security to be starttls or tls, or it is sent as plain text")
            }
            guard !username.isEmpty, !password.isEmpty, !"\(username)\(password)".utf8.contains(0) else {
                throw PluginError("username: expected non-empty texts, here and under password")
            }
            return Credentials(username: username, password: password)
        default: throw PluginError("username: expected both this and password, or neither")
        }
    }
}

/// The sender of messages, and the links to unsubscribe.
struct MessageSender: Sendable {
    let from: EmailAddress
    let name: String
    /// The address for bounces: the sender in SMTP.
    let returnPath: EmailAddress
    let replyTo: EmailAddress?
    /// The domain-like name of `List-Id` (RFC 2919).
    let listID: String?
    let unsubscribeAddress: EmailAddress?
    /// An https URL, in which `{address}` is replaced by the recipient's address.
    let unsubscribeURL: String?
    /// The last lines of every message.
    let footer: String
    let wakeTexts: WakeTexts

    private static let addressPlace = "{address}"

    fileprivate init(_ block: JSONObject) throws(PluginError) {
        guard let from = try MessageSender.address(block, "from") else {
            throw PluginError("from: expected an address such as push@example.com, found nothing")
        }
        self.from = from
        name = try block.text("from_name", expected: "the sender's name") ?? ""
        returnPath = try MessageSender.address(block, "return_path") ?? from
        replyTo = try MessageSender.address(block, "reply_to")
        let expectedID = "a name such as notifications.example.com"
        listID = try block.text("list_id", expected: expectedID)
        if let listID, EmailAddress("x@\(listID)")?.needsUTF8 != false {
            throw PluginError("list_id: expected \(expectedID), found another text")
        }
        unsubscribeAddress = try MessageSender.address(block, "unsubscribe_mailto")
        unsubscribeURL = try MessageSender.unsubscribeURL(block)
        footer = try block.text("footer", expected: "the last lines of every message") ?? ""
        guard name.utf8.count <= 200, footer.utf8.count <= 2000 else {
            throw PluginError("footer: expected at most 2000 bytes, and 200 under from_name")
        }
        wakeTexts = try WakeTexts(block)
    }

    private static func address(_ block: JSONObject, _ key: StaticString) throws(PluginError) -> EmailAddress? {
        let expected = "an address such as push@example.com"
        guard let text = try block.text(key, expected: expected) else { return nil }
        guard let address = EmailAddress(text), !address.needsUTF8 else {
            throw PluginError("\(key): expected \(expected), found another text")
        }
        return address
    }

    private static func unsubscribeURL(_ block: JSONObject) throws(PluginError) -> String? {
        let expected = "an https URL, such as https://example.com/unsubscribe?address={address}"
        guard let text = try block.text("unsubscribe_url", expected: expected) else { return nil }
        guard let url = HTTPURL(replacing(addressPlace, with: "x", in: text)), url.isSecure,
            !url.origin.contains("{"), text.utf8.count <= 500
        else { throw PluginError("unsubscribe_url: expected \(expected), found another text") }
        return text
    }

    /// Returns the URL by which `recipient` can unsubscribe.
    func unsubscribeURL(of recipient: EmailAddress) -> String? {
        unsubscribeURL.map {
            MessageSender.replacing(MessageSender.addressPlace, with: PercentEncoding.encode(recipient.text), in: $0)
        }
    }

    private static func replacing(_ place: String, with value: String, in text: String) -> String {
        guard let found = text.firstRange(of: place) else { return text }
        return text[..<found.lowerBound] + value + text[found.upperBound...]
    }
}

/// An e-mail address: a local part without quotes, and a domain. It cannot contain characters that end a line, a path
/// or a parameter of SMTP (RFC 5321 section 4.1.2, RFC 6531 section 3.3).
struct EmailAddress: Sendable, Hashable {
    /// The maximum length in bytes.
    static let limit = 254
    private static let localLimit = 64

    let local: String
    let domain: String

    /// Returns nil if `text` is not such an address.
    init?(_ text: String) {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, text.utf8.count <= EmailAddress.limit else { return nil }
        (local, domain) = (String(parts[0]), String(parts[1]))
        guard EmailAddress.isLocalPart(parts[0]), EmailAddress.isDomain(parts[1]) else { return nil }
    }

    /// `local@domain`.
    var text: String { "\(local)@\(domain)" }

    /// Whether the mail server must support SMTPUTF8 (RFC 6531).
    var needsUTF8: Bool { !text.utf8.allSatisfy { $0 < 0x80 } }

    /// Whether `part` consists of atoms separated by dots. `!` and `%` once meant routes through other servers.
    private static func isLocalPart(_ part: Substring) -> Bool {
        (1...localLimit).contains(part.utf8.count)
            && part.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { atom in
                !atom.isEmpty
                    && atom.unicodeScalars.allSatisfy { scalar in
                        guard scalar.isASCII else { return isReadable(scalar) }
                        let byte = UInt8(truncatingIfNeeded: scalar.value)
                        return byte.isASCIILetterOrDigit || byte.isOne(of: "#$&'*+-/=?^_`{|}~")
                    }
            }
    }

    /// Whether `part` has two labels or more. Addresses in brackets are rejected, because they could lead to any host.
    private static func isDomain(_ part: Substring) -> Bool {
        let labels = part.split(separator: ".", omittingEmptySubsequences: false)
        guard labels.count >= 2, let last = labels.last, !last.utf8.allSatisfy(\.isASCIIDigit) else { return false }
        return labels.allSatisfy { label in
            (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
                && label.unicodeScalars.allSatisfy { scalar in
                    guard scalar.isASCII else { return isReadable(scalar) }
                    let byte = UInt8(truncatingIfNeeded: scalar.value)
                    return byte.isASCIILetterOrDigit || byte == UInt8(ascii: "-")
                }
        }
    }

    private static func isReadable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .spaceSeparator, .surrogate, .privateUse,
            .unassigned:
            false
        default: true
        }
    }
}
