import PluginKit

/// A reply of a mail server (RFC 5321 section 4.2): a code, and one or more lines of text.
struct SMTPReply: Sendable, Hashable {
    let code: UInt32
    let lines: [String]

    /// The status at the start of a refusal, such as 5.1.1 (RFC 2034, RFC 3463); nil without one.
    var status: EnhancedStatus? { EnhancedStatus(lines.last ?? "") }

    var isPositive: Bool { (200..<300).contains(code) }
}

/// An enhanced status code (RFC 3463).
struct EnhancedStatus: Sendable, Hashable, CustomStringConvertible {
    let kind: Int
    let subject: Int
    let detail: Int

    init(_ kind: Int, _ subject: Int, _ detail: Int) {
        (self.kind, self.subject, self.detail) = (kind, subject, detail)
    }

    /// Returns nil if `text` does not start with one.
    init?(_ text: String) {
        let numbers = (text.split(separator: " ").first ?? "").split(separator: ".").map { part in
            part.utf8.count <= 3 && part.utf8.allSatisfy(\.isASCIIDigit) ? Int(part) : nil
        }
        guard numbers.count == 3, let kind = numbers[0], let subject = numbers[1], let detail = numbers[2],
            [2, 4, 5].contains(kind)
        else { return nil }
        self.init(kind, subject, detail)
    }

    var description: String { "\(kind).\(subject).\(detail)" }
}

/// Splits the bytes of a mail server into replies.
struct SMTPReplyParser: Sendable {
    /// An error: the server sent a line that is not a reply.
    struct Malformed: Error, Hashable {}

    /// The maximum line length in bytes. Replies have lines of up to 512 bytes; some servers write more.
    private static let lineLimit = 4096
    private static let lineCountLimit = 128

    private var line: [UInt8] = []
    private var code: UInt32?
    private var lines: [String] = []

    /// Whether a part of a reply is buffered.
    var isInTheMiddle: Bool { !line.isEmpty || code != nil }

    /// Returns the replies that end in `bytes`.
    mutating func take(_ bytes: [UInt8]) throws(Malformed) -> [SMTPReply] {
        var replies: [SMTPReply] = []
        for byte in bytes {
            guard byte == UInt8(ascii: "\n") else {
                guard line.count < SMTPReplyParser.lineLimit else { throw Malformed() }
                line.append(byte)
                continue
            }
            if line.last == UInt8(ascii: "\r") { line.removeLast() }
            if let reply = try endLine() { replies.append(reply) }
            line.removeAll(keepingCapacity: true)
        }
        return replies
    }

    /// Returns the reply that ends with this line: three digits, `-` in all lines except the last, and a text.
    private mutating func endLine() throws(Malformed) -> SMTPReply? {
        let digits = line.prefix(3)
        guard digits.count == 3, digits.allSatisfy(\.isASCIIDigit),
            let number = UInt32(String(decoding: digits, as: UTF8.self)), (200..<600).contains(number),
            code == nil || code == number, lines.count < SMTPReplyParser.lineCountLimit
        else { throw Malformed() }
        let separator = line.dropFirst(3).first
        guard separator == nil || separator == UInt8(ascii: " ") || separator == UInt8(ascii: "-") else {
            throw Malformed()
        }
        lines.append(String(decoding: line.dropFirst(4), as: UTF8.self))
        guard separator != UInt8(ascii: "-") else {
            code = number
            return nil
        }
        defer { (code, lines) = (nil, []) }
        return SMTPReply(code: number, lines: lines)
    }
}

/// The extensions of a mail server, from its response to EHLO.
struct SMTPExtensions: Sendable, Hashable {
    var startTLS = false
    var eightBit = false
    var utf8 = false
    /// The longest message in bytes; nil: not stated.
    var size: Int?
    /// Whether MAIL may state the length of the message.
    var declaresSize = false
    /// The mechanisms of AUTH, in capitals.
    var mechanisms: Set<String> = []

    init() {}

    init(_ reply: SMTPReply) {
        for line in reply.lines.dropFirst() {
            let words = line.uppercased().split { $0 == " " || $0 == "=" }.map(String.init)
            switch words.first {
            case "STARTTLS": startTLS = true
            case "8BITMIME": eightBit = true
            case "SMTPUTF8": utf8 = true
            case "SIZE":
                declaresSize = true
                // 0 means that there is no limit.
                size = words.count > 1 ? Int(words[1]).flatMap { $0 > 0 ? $0 : nil } : nil
            // `AUTH=` is an old form.
            case "AUTH": mechanisms.formUnion(words.dropFirst())
            default: break
            }
        }
    }
}
