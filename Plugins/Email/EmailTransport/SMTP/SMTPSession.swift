import PluginKit

/// One connection to a mail server, as a pure state machine (RFC 5321): it takes events and returns actions. It sends
/// any number of messages, one after the other.
struct SMTPSession: Sendable {
    enum Action: Sendable, Equatable {
        case write([UInt8])
        case startTLS
        case close
        /// ``send(_:)`` may be called.
        case ready
        /// The result of the message.
        case finished(Outcome)
        /// The server closed a connection that had worked before, without a response about the message: another
        /// connection may send it.
        case unsent
        /// The server cannot be used: this is the outcome of all waiting messages.
        case failed(Outcome)
    }

    private enum Step: Sendable, Equatable {
        case connecting
        case greeting
        case hello
        case startTLS
        case securing
        /// The next responses to 334, in reverse order.
        case login([String])
        case ready
        case sender
        case recipient
        case data
        case content
        /// After a recipient or DATA was refused.
        case reset
        case over
    }

    private let server: MailServer
    private var step = Step.connecting
    private var isSecure: Bool
    private var extensions = SMTPExtensions()
    private var parser = SMTPReplyParser()
    private var mail: OutgoingMail?
    /// The content, sent at DATA but made at MAIL, which states its length.
    private var content: [UInt8] = []
    private var mailCount = 0

    init(_ server: MailServer) {
        self.server = server
        isSecure = server.security == .tls
    }

    /// Whether ``send(_:)`` may be called.
    var isReady: Bool { step == .ready }
    /// Whether the session has ended.
    var isOver: Bool { step == .over }

    // MARK: Events

    /// Handles the end of the connection setup, or of the TLS handshake.
    mutating func opened() -> [Action] {
        switch step {
        case .connecting:
            step = .greeting
            return []
        case .securing:
            // Capabilities learned before TLS are discarded (RFC 3207 section 4.2).
            isSecure = true
            extensions = SMTPExtensions()
            parser = SMTPReplyParser()
            return hello()
        default: return []
        }
    }

    mutating func received(_ bytes: [UInt8]) -> [Action] {
        var actions: [Action] = []
        do throws(SMTPReplyParser.Malformed) {
            for reply in try parser.take(bytes) where step != .over {
                // Plain text after the consent to TLS was injected.
                guard step != .securing else { throw SMTPReplyParser.Malformed() }
                actions += answer(reply)
            }
            if step == .securing, parser.isInTheMiddle { throw SMTPReplyParser.Malformed() }
        } catch {
            actions += giveUp(Outcome(.retry, reason: "protocol", scope: .transport)) + [.close]
        }
        return actions
    }

    /// Handles the end of the connection; `reason` is empty if it was closed properly.
    mutating func closed(_ reason: String) -> [Action] {
        guard step != .over else { return [] }
        let isUntouched = (step == .sender) && mailCount > 1
        defer { step = .over }
        if isUntouched { return [.unsent] }
        return giveUp(Outcome(.retry, reason: reason.isEmpty ? "closed" : reason, scope: .transport))
    }

    /// Starts to send a message; only after ``Action/ready``.
    mutating func send(_ mail: OutgoingMail) -> [Action] {
        guard extensions.utf8 || !mail.recipient.needsUTF8 else {
            return [.finished(Outcome(.rejected, reason: "smtputf8-missing")), .ready]
        }
        let (content, is8Bit) = mail.content(allows8Bit: extensions.eightBit)
        if let size = extensions.size, content.count > size {
            return [.finished(Outcome(.rejected, reason: "payload-too-large")), .ready]
        }
        self.mail = mail
        self.content = content
        mailCount += 1
        step = .sender
        let parameters =
            (extensions.declaresSize ? " SIZE=\(content.count)" : "")
            + (is8Bit && extensions.eightBit ? " BODY=8BITMIME" : "")
            + (mail.recipient.needsUTF8 ? " SMTPUTF8" : "")
        return [SMTPSession.line("MAIL FROM:<\(mail.sender.text)>\(parameters)")]
    }

    // MARK: Responses of the server

    private mutating func answer(_ reply: SMTPReply) -> [Action] {
        switch step {
        case .connecting, .securing, .over:
            return giveUp(Outcome(.retry, reason: "protocol", scope: .transport)) + [.close]
        case .greeting: return reply.code == 220 ? hello() : refused(.greeting, reply)
        case .hello: return reply.code == 250 ? greeted(SMTPExtensions(reply)) : refused(.hello, reply)
        case .startTLS:
            guard reply.code == 220 else { return refused(.startTLS, reply) }
            step = .securing
            return [.startTLS]
        case .login(let rest): return login(rest, reply)
        // The server sends a reply before it disconnects, such as 421.
        case .ready:
            step = .over
            return [.close]
        case .sender: return reply.code == 250 ? recipient() : senderRefused(reply)
        case .recipient:
            guard reply.code == 250 || reply.code == 251 else { return refused(.recipient, reply) }
            step = .data
            return [SMTPSession.line("DATA")]
        case .data:
            guard reply.code == 354 else { return refused(.content, reply) }
            step = .content
            return [.write(SMTPSession.stuffed(content))]
        case .content:
            if reply.isPositive { return finish(Outcome(.delivered, status: reply.code, reason: "delivered")) }
            return finish(SMTPError(phase: .content, reply: reply).outcome, isLeaving: reply.code == 421)
        case .reset:
            guard reply.code == 250 else {
                step = .over
                return [.close]
            }
            step = .ready
            return [.ready]
        }
    }

    private mutating func hello() -> [Action] {
        step = .hello
        return [SMTPSession.line("EHLO \(server.hello)")]
    }

    private mutating func greeted(_ extensions: SMTPExtensions) -> [Action] {
        self.extensions = extensions
        if server.security == .startTLS, !isSecure {
            guard extensions.startTLS else {
                return giveUp(Outcome(.misconfigured, reason: "starttls-missing")) + [.close]
            }
            step = .startTLS
            return [SMTPSession.line("STARTTLS")]
        }
        guard let credentials = server.credentials else { return becomeReady() }
        if extensions.mechanisms.contains("PLAIN") {
            let text = "\0\(credentials.username)\0\(credentials.password)"
            step = .login([])
            return [SMTPSession.line("AUTH PLAIN \(SMTPSession.base64(text))")]
        }
        guard extensions.mechanisms.contains("LOGIN") else {
            return giveUp(Outcome(.misconfigured, reason: "no-login-mechanism")) + [.close]
        }
        step = .login([credentials.password, credentials.username])
        return [SMTPSession.line("AUTH LOGIN")]
    }

    private mutating func login(_ rest: [String], _ reply: SMTPReply) -> [Action] {
        if reply.code == 235 { return becomeReady() }
        guard reply.code == 334, let next = rest.last else { return refused(.login, reply) }
        step = .login(rest.dropLast())
        return [SMTPSession.line(SMTPSession.base64(next))]
    }

    private mutating func becomeReady() -> [Action] {
        step = .ready
        return [.ready]
    }

    private mutating func recipient() -> [Action] {
        guard let mail else { return [.close] }
        step = .recipient
        return [SMTPSession.line("RCPT TO:<\(mail.recipient.text)>")]
    }

    /// Handles a refused sender. A server that closes an idle connection may respond 421 to the next message, which it
    /// has not processed.
    private mutating func senderRefused(_ reply: SMTPReply) -> [Action] {
        guard reply.code == 421, mailCount > 1 else { return refused(.sender, reply) }
        step = .over
        return [.unsent, .close]
    }

    // MARK: Ends

    /// Handles a refusal, which ends the connection before any message, or else one message.
    private mutating func refused(_ phase: SMTPError.Phase, _ reply: SMTPReply) -> [Action] {
        let outcome = SMTPError(phase: phase, reply: reply).outcome
        switch phase {
        case .greeting, .hello, .startTLS, .login: return giveUp(outcome) + [.close]
        case .sender, .recipient, .content:
            guard reply.code != 421 else { return finish(outcome, isLeaving: true) }
            mail = nil
            step = .reset
            return [.finished(outcome), SMTPSession.line("RSET")]
        }
    }

    private mutating func finish(_ outcome: Outcome, isLeaving: Bool = false) -> [Action] {
        mail = nil
        content = []
        step = isLeaving ? .over : .ready
        return [.finished(outcome), isLeaving ? .close : .ready]
    }

    /// Ends the message in flight or the whole connection.
    private mutating func giveUp(_ outcome: Outcome) -> [Action] {
        defer { step = .over }
        switch step {
        case .connecting, .greeting, .hello, .startTLS, .securing, .login: return [.failed(outcome)]
        case .sender, .recipient, .data, .content: return [.finished(outcome)]
        case .ready, .reset, .over: return []
        }
    }

    // MARK: Format

    private static func line(_ text: String) -> Action { .write([UInt8]("\(text)\r\n".utf8)) }

    private static func base64(_ text: String) -> String {
        Base64Alphabet.standard.encode([UInt8](text.utf8), padded: true)
    }

    /// Returns a message with lines that end in CR and LF, a doubled dot at the start of lines, and the end mark.
    static func stuffed(_ content: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(content.count + 64)
        var isAtStart = true
        for byte in content {
            if isAtStart, byte == UInt8(ascii: ".") { bytes.append(byte) }
            bytes.append(byte)
            isAtStart = byte == UInt8(ascii: "\n")
        }
        return bytes + [UInt8](".\r\n".utf8)
    }
}

/// The meaning of a mail server's refusal: depends on the command, the code, and the enhanced status if there is one.
///
/// Only a status about the mailbox removes a recipient. A bare 550 may be about us, such as our address or a missing
/// login, and then no recipient may be lost.
struct SMTPError: Sendable {
    /// The command that was refused.
    enum Phase: String, Sendable, CaseIterable {
        /// The server's greeting.
        case greeting
        case hello
        case startTLS
        case login
        /// `MAIL`: the sender.
        case sender
        /// `RCPT`: the recipient.
        case recipient
        /// `DATA`, and the message itself.
        case content
    }

    let phase: Phase
    let reply: SMTPReply

    var outcome: Outcome {
        // The server is shutting down and closes the connection, whatever the command was.
        if reply.code == 421 { return outcome(.retry, "service-closing", .transport) }
        return reply.code < 500 ? passing : lasting
    }

    /// The outcome of 4yz, and of unexpected 2yz and 3yz.
    private var passing: Outcome {
        guard reply.code >= 400 else { return outcome(.retry, "protocol", .transport) }
        switch (phase, status) {
        case (.greeting, _), (.hello, _): return outcome(.retry, "server-busy", .transport)
        case (.startTLS, _): return outcome(.retry, "tls-unavailable", .transport)
        case (.login, _): return outcome(.retry, "login-unavailable", .transport)
        case (.sender, _): return outcome(.retry, "sender-deferred", .transport)
        case (_, (3, _)?): return outcome(.retry, "server-busy", .transport)
        case (_, (2, 2)?): return outcome(.retry, "mailbox-full", .device)
        case (_, (7, _)?): return outcome(.retry, "greylisted", .device)
        default: return outcome(.retry, reply.code == 452 ? "server-busy" : "deferred", .device)
        }
    }

    /// The outcome of 5yz.
    private var lasting: Outcome {
        switch phase {
        case .greeting: outcome(.misconfigured, "not-welcome")
        case .hello: outcome(.misconfigured, "hello-refused")
        case .startTLS: outcome(.misconfigured, "starttls-refused")
        case .login: outcome(.misconfigured, "bad-credentials")
        case .sender: ofSender
        case .recipient, .content: ofMessage
        }
    }

    private var ofSender: Outcome {
        switch (reply.code, status) {
        case (_, (3, 4)?), (_, (2, 3)?), (552, _): outcome(.rejected, "payload-too-large")
        case (530, _): outcome(.misconfigured, "login-required")
        case (553, (6, _)?), (555, _): outcome(.rejected, "not-supported")
        default: outcome(.misconfigured, "sender-refused")
        }
    }

    private var ofMessage: Outcome {
        switch (reply.code, status) {
        case (530, _): return outcome(.misconfigured, "login-required")
        // The mailbox or domain does not exist, the address is malformed, it has moved, the domain accepts no mail, or
        // it is disabled.
        case (_, (1, 1)?), (_, (1, 2)?), (_, (1, 3)?), (_, (1, 6)?), (_, (1, 10)?), (_, (2, 1)?):
            return outcome(.gone, "mailbox-unknown")
        case (_, (2, 2)?): return outcome(.rejected, "mailbox-full")
        case (_, (3, 4)?), (_, (2, 3)?): return outcome(.rejected, "payload-too-large")
        case (_, (6, _)?): return outcome(.rejected, "content-refused")
        case (_, (7, _)?): return outcome(.rejected, "policy")
        case (552, nil): return outcome(.rejected, phase == .content ? "payload-too-large" : "mailbox-full")
        case (500...504, _), (555, _): return outcome(.rejected, "protocol")
        default: return outcome(.rejected, phase == .recipient ? "mailbox-refused" : "content-refused")
        }
    }

    /// Subject and detail of the enhanced status, if its class is that of the code.
    private var status: (Int, Int)? {
        guard let status = reply.status, status.kind == reply.code / 100 else { return nil }
        return (status.subject, status.detail)
    }

    private func outcome(_ kind: Outcome.Kind, _ reason: String, _ scope: Outcome.Scope = .usual) -> Outcome {
        Outcome(kind, status: reply.code, reason: reason, scope: scope)
    }
}
