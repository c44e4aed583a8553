import Cipher
import Core
import PluginKit

/// A message in flight: the envelope, the header and the text.
struct OutgoingMail: Sendable {
    /// The maximum length of the title in bytes. Longer texts are truncated.
    private static let titleLimit = 300
    private static let textLimit = 32_768

    /// The sender in SMTP.
    let sender: EmailAddress
    let recipient: EmailAddress
    /// The header without `Content-Transfer-Encoding`.
    private let header: String
    private let body: TextBody

    /// Throws if there is nothing to show, or the rule's block is not a JSON object.
    init(
        _ notification: borrowing Notification,
        to recipient: EmailAddress,
        from sender: MessageSender,
        now: Timestamp
    ) throws(ReadableMessageError) {
        guard let block = try? notification.native.jsonObject() else { throw .badNative }
        let texts = try MessageTexts(notification, block, sender.wakeTexts)
        self.sender = sender.returnPath
        self.recipient = recipient
        header = OutgoingMail.header(
            notification,
            subject: texts.subject.cut(to: OutgoingMail.titleLimit),
            to: recipient,
            from: sender,
            now: now
        )
        let text = texts.text.cut(to: OutgoingMail.textLimit)
        body = TextBody(sender.footer.isEmpty ? text : "\(text)\n\n-- \n\(sender.footer)")
    }

    private static func header(
        _ notification: borrowing Notification,
        subject: String,
        to recipient: EmailAddress,
        from sender: MessageSender,
        now: Timestamp
    ) -> String {
        let id = notification.id.headerValue(limit: 128) { Hex.encode(SHA256.hash($0)) } ?? "unnamed"
        var header = HeaderField.structured("From", HeaderField.mailbox(sender.name, sender.from))
        header += HeaderField.structured("To", "<\(recipient.text)>")
        header += HeaderField.text("Subject", subject)
        header += HeaderField.structured("Date", HeaderField.date(now))
        header += HeaderField.structured("Message-ID", "<\(id)@\(sender.from.domain)>")
        if let replyTo = sender.replyTo { header += HeaderField.structured("Reply-To", "<\(replyTo.text)>") }
        if !notification.thread.isEmpty {
            // Mail programs group messages that refer to the same message.
            let thread = Hex.encode(SHA256.hash(notification.thread.bytes)).prefix(32)
            header += HeaderField.structured("References", "<\(thread).thread@\(sender.from.domain)>")
        }
        if notification.urgency == .high { header += HeaderField.structured("Importance", "high") }
        if notification.urgency == .low { header += HeaderField.structured("Importance", "low") }
        header += HeaderField.structured("Auto-Submitted", "auto-generated")
        if let listID = sender.listID { header += HeaderField.structured("List-Id", "<\(listID)>") }
        let url = sender.unsubscribeURL(of: recipient)
        let ways = [url, sender.unsubscribeAddress.map { "mailto:\($0.text)?subject=unsubscribe" }].compactMap(\.self)
        if !ways.isEmpty {
            header += HeaderField.structured("List-Unsubscribe", ways.map { "<\($0)>" }.joined(separator: ", "))
        }
        if url != nil { header += HeaderField.structured("List-Unsubscribe-Post", "List-Unsubscribe=One-Click") }
        header += HeaderField.structured("MIME-Version", "1.0")
        header += HeaderField.structured("Content-Type", "text/plain; charset=utf-8")
        return header
    }

    /// Returns the whole message for a server, and whether it needs 8BITMIME.
    func content(allows8Bit: Bool) -> (bytes: [UInt8], is8Bit: Bool) {
        let encoding = body.encoding(allows8Bit: allows8Bit)
        var bytes = [UInt8](header.utf8)
        bytes += HeaderField.structured("Content-Transfer-Encoding", encoding.rawValue).utf8
        bytes += "\r\n".utf8
        body.write(encoding, to: &bytes)
        return (bytes, encoding == .eightBit || recipient.needsUTF8)
    }
}

/// The texts that a person reads.
private struct MessageTexts {
    let subject: String
    let text: String

    /// Reads the texts. A wake-up becomes the operator's sentence. A batch gets the number of events, unless its texts
    /// contain it.
    init(
        _ notification: borrowing Notification,
        _ block: JSONObject,
        _ wakeTexts: WakeTexts
    ) throws(ReadableMessageError) {
        let sentence = wakeTexts.text(count: notification.count)
        guard notification.mode != .wake else {
            subject = block["subject"]?.string ?? sentence
            text = sentence
            return
        }
        let (title, body) = (notification.title.string, notification.body.string)
        guard !title.isEmpty || !body.isEmpty else { throw .empty }
        let shown = title.isEmpty ? String(body.prefix { !$0.isNewline }) : title
        let given = block["subject"]?.string ?? ""
        subject = given.isEmpty ? shown : given
        var paragraphs = [notification.subtitle.string, body.isEmpty ? title : body].filter { !$0.isEmpty }
        if notification.count > 1, !"\(title)\(body)".contains(String(notification.count)) {
            paragraphs.append(sentence)
        }
        var links: [String] = []
        notification.forEachAction { action in
            if !action.url.isEmpty { links.append("\(action.label.string): \(action.url.string)") }
        }
        if !notification.url.isEmpty { links.append(notification.url.string) }
        if !links.isEmpty { paragraphs.append(links.joined(separator: "\n")) }
        text = paragraphs.joined(separator: "\n\n")
    }
}

extension String {
    /// Returns as many characters as fit into `limit` bytes, with `…` if it is truncated.
    fileprivate func cut(to limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var count = 0
        return prefix { character in
            count += character.utf8.count
            return count <= limit - 3
        } + "…"
    }
}

/// Writes lines of a message's header (RFC 5322 section 2.2).
enum HeaderField {
    /// The width at which lines are folded, if they contain spaces.
    private static let width = 76

    /// Returns a field with any text as its value. Text that is not printable ASCII, even line breaks, becomes encoded
    /// words.
    static func text(_ name: String, _ value: String) -> String { structured(name, EncodedWords.encode(value)) }

    /// Returns a field whose value is printable ASCII that we generated.
    static func structured(_ name: String, _ value: String) -> String {
        var lines = ["\(name):"]
        for word in value.split(separator: " ") {
            let last = lines.count - 1
            if lines[last].utf8.count + 1 + word.utf8.count > width, lines[last].utf8.count > name.utf8.count + 1 {
                lines.append(" \(word)")
            } else {
                lines[last] += " \(word)"
            }
        }
        return lines.joined(separator: "\r\n") + "\r\n"
    }

    /// Returns a name and an address: `"Carillon" <push@example.com>`.
    static func mailbox(_ name: String, _ address: EmailAddress) -> String {
        guard !name.isEmpty else { return address.text }
        let words = EncodedWords.encode(name)
        guard words == name else { return "\(words) <\(address.text)>" }
        let quoted = name.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : String($0) }.joined()
        return "\"\(quoted)\" <\(address.text)>"
    }

    /// Formats a date by RFC 5322 section 3.3: `Mon, 02 Feb 2026 02:40:00 +0000`.
    static func date(_ time: Timestamp) -> String {
        let date = CivilDate(time)
        let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let weekday = weekdays[Int((time.daysSince1970 % 7 + 7) % 7)]
        let day = date.day < 10 ? "0\(date.day)" : "\(date.day)"
        return "\(weekday), \(day) \(months[Int(date.month - 1)]) \(date.year) \(time.clock) +0000"
    }
}

/// The body of a message: plain text in UTF-8, encoded so that mail servers accept it (RFC 2045).
struct TextBody: Sendable {
    /// The encoding of a message's body.
    enum Encoding: String, Sendable {
        /// Plain ASCII in short lines.
        case sevenBit = "7bit"
        /// Plain UTF-8, if the mail server supports 8BITMIME (RFC 6152).
        case eightBit = "8bit"
        case quotedPrintable = "quoted-printable"
        case base64
    }

    /// The width of quoted-printable and base64 lines, without the line break.
    private static let width = 76
    /// The maximum length of an unencoded line; servers must accept 998.
    private static let longestLine = 900

    private let lines: [Substring]
    private let isASCII: Bool
    private let isShort: Bool

    /// Accepts any text. Control characters other than line breaks and tabs are removed.
    init(_ text: String) {
        var clean = ""
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x0A, 0x09, 0x20...0x7E, 0xA0...: clean.unicodeScalars.append(scalar)
            case 0x0D, 0x85: break
            default: break
            }
        }
        lines = clean.split(separator: "\n", omittingEmptySubsequences: false)
        isASCII = clean.utf8.allSatisfy { $0 < 0x80 }
        isShort = lines.allSatisfy { $0.utf8.count <= TextBody.longestLine }
    }

    /// Returns the best encoding; `allows8Bit`: the mail server supports 8BITMIME.
    func encoding(allows8Bit: Bool) -> Encoding {
        if isShort, isASCII { return .sevenBit }
        if isShort, allows8Bit { return .eightBit }
        let byteCount = lines.reduce(0) { $0 + $1.utf8.count }
        let foreign = lines.reduce(0) { $0 + $1.utf8.count { $0 >= 0x80 } }
        return foreign * 6 <= byteCount ? .quotedPrintable : .base64
    }

    /// Writes the body in an encoding, with CR and LF after each line.
    func write(_ encoding: Encoding, to bytes: inout [UInt8]) {
        switch encoding {
        case .sevenBit, .eightBit:
            for line in lines {
                bytes += line.utf8
                bytes += TextBody.end
            }
        case .quotedPrintable:
            for line in lines { TextBody.quote([UInt8](line.utf8), to: &bytes) }
        case .base64:
            let text = lines.joined(separator: "\r\n") + "\r\n"
            let encoded = [UInt8](Base64Alphabet.standard.encode([UInt8](text.utf8), padded: true).utf8)
            for start in stride(from: 0, to: encoded.count, by: TextBody.width) {
                bytes += encoded[start..<min(start + TextBody.width, encoded.count)]
                bytes += TextBody.end
            }
        }
    }

    private static let end = [UInt8(ascii: "\r"), UInt8(ascii: "\n")]

    /// Writes one line in quoted-printable (RFC 2045 section 6.7).
    private static func quote(_ line: [UInt8], to bytes: inout [UInt8]) {
        let hex = [UInt8]("0123456789ABCDEF".utf8)
        var column = 0
        for (index, byte) in line.enumerated() {
            let isBlank = byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
            let isPlain = isBlank ? index + 1 < line.count : byte.isVisibleASCII && byte != UInt8(ascii: "=")
            // A soft break needs the last column.
            if column + (isPlain ? 1 : 3) > width - 1 {
                bytes.append(UInt8(ascii: "="))
                bytes += end
                column = 0
            }
            if isPlain {
                bytes.append(byte)
                column += 1
            } else {
                bytes += [UInt8(ascii: "="), hex[Int(byte >> 4)], hex[Int(byte & 15)]]
                column += 3
            }
        }
        bytes += end
    }
}
