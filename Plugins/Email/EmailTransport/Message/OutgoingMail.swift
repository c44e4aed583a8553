import Cipher
import PluginKit
import Units

/// A message on its way: the envelope, the header and the text.
struct OutgoingMail: Sendable {
    /// In bytes. Longer texts are cut.
    private static let titleLimit = 300
    private static let textLimit = 32_768

    /// The sender and the recipient to SMTP.
    let sender: EmailAddress
    let recipient: EmailAddress
    /// Without `Content-Transfer-Encoding`.
    private let header: String
    private let body: TextBody

    /// Whether the mail server has to know SMTPUTF8 (RFC 6531).
    var needsUTF8: Bool { recipient.needsUTF8 }

    /// Throws when there is nothing to show, or the rule's block is no JSON object.
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
            // Mail programs show what refers to the same message together.
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

    /// The whole message for a server, and whether it needs 8BITMIME.
    func content(allows8Bit: Bool) -> (bytes: [UInt8], is8Bit: Bool) {
        let encoding = body.encoding(allows8Bit: allows8Bit)
        var bytes = [UInt8](header.utf8)
        bytes += HeaderField.structured("Content-Transfer-Encoding", encoding.rawValue).utf8
        bytes += "\r\n".utf8
        body.write(encoding, to: &bytes)
        return (bytes, encoding == .eightBit || needsUTF8)
    }
}

/// What a person reads.
private struct MessageTexts {
    let subject: String
    let text: String

    /// A wake-up becomes the operator's sentence. What stands for several events says how many, unless its texts do.
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
    /// As many characters as fit into `limit` bytes, with `…` where some are missing.
    fileprivate func cut(to limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var count = 0
        return prefix { character in
            count += character.utf8.count
            return count <= limit - 3
        } + "…"
    }
}
