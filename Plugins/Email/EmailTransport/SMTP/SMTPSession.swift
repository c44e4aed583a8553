import PluginKit

/// One connection to a mail server, as a pure state machine (RFC 5321): what happens on it goes in, what is to be done
/// comes out. It carries one message at a time, any number one after the other.
struct SMTPSession: Sendable {
    enum Action: Sendable, Equatable {
        case write([UInt8])
        case startTLS
        case close
        /// ``send(_:)`` may be called.
        case ready
        /// What became of the message.
        case finished(Outcome)
        /// The server closed a connection that had served others, before it answered anything about the message:
        /// another connection may take it.
        case unsent
        /// There is no getting through to the server: this is the outcome of all messages that wait.
        case failed(Outcome)
    }

    private enum Step: Sendable, Equatable {
        case connecting
        case greeting
        case hello
        case startTLS
        case securing
        /// With what is sent next at 334; the last element comes first.
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
    /// Written at DATA; made at MAIL, where its length is said.
    private var content: [UInt8] = []
    private var mailCount = 0

    init(_ server: MailServer) {
        self.server = server
        isSecure = server.security == .tls
    }

    /// Whether ``send(_:)`` may be called.
    var isReady: Bool { step == .ready }
    /// Whether nothing more will be sent on it.
    var isOver: Bool { step == .over }

    // MARK: What happens

    /// The connection stands, or TLS on it.
    mutating func opened() -> [Action] {
        switch step {
        case .connecting:
            step = .greeting
            return []
        case .securing:
            // What was learned in the clear counts no more (RFC 3207 section 4.2).
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
                // What follows the consent to TLS in the clear was injected.
                guard step != .securing else { throw SMTPReplyParser.Malformed() }
                actions += answer(reply)
            }
            if step == .securing, parser.isInTheMiddle { throw SMTPReplyParser.Malformed() }
        } catch {
            actions += giveUp(Outcome(.retry, reason: "protocol", scope: .transport)) + [.close]
        }
        return actions
    }

    /// The connection has ended; `reason` is empty where it ended in order.
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

    // MARK: What the server answers

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
        // The server has something to say before it leaves, such as 421.
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
            return finish(SMTPRefusal(phase: .content, reply: reply).outcome, isLeaving: reply.code == 421)
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

    /// A server that closes an idle connection may say 421 to the next message, which it has not looked at.
    private mutating func senderRefused(_ reply: SMTPReply) -> [Action] {
        guard reply.code == 421, mailCount > 1 else { return refused(.sender, reply) }
        step = .over
        return [.unsent, .close]
    }

    // MARK: How it ends

    /// What a refusal ends: the connection before anything can be sent, or else one message.
    private mutating func refused(_ phase: SMTPRefusal.Phase, _ reply: SMTPReply) -> [Action] {
        let outcome = SMTPRefusal(phase: phase, reply: reply).outcome
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

    /// Ends whatever is under way.
    private mutating func giveUp(_ outcome: Outcome) -> [Action] {
        defer { step = .over }
        switch step {
        case .connecting, .greeting, .hello, .startTLS, .securing, .login: return [.failed(outcome)]
        case .sender, .recipient, .data, .content: return [.finished(outcome)]
        case .ready, .reset, .over: return []
        }
    }

    // MARK: Spelling

    private static func line(_ text: String) -> Action { .write([UInt8]("\(text)\r\n".utf8)) }

    private static func base64(_ text: String) -> String {
        Base64Alphabet.standard.encode([UInt8](text.utf8), padded: true)
    }

    /// A message whose lines end in CR and LF, with a second dot before those that begin with one, and the end.
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

/// What a refusal by a mail server means: by what was asked for, its code, and its enhanced status where it has one.
///
/// Only a status that names the mailbox forgets a recipient. A bare 550 may be about us, such as our address or a
/// missing login, and then no recipient may be lost.
struct SMTPRefusal: Sendable {
    /// What was asked for.
    enum Phase: String, Sendable, CaseIterable {
        /// The server speaks first.
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
        // The server leaves; whatever it was asked, it is about to close.
        if reply.code == 421 { return outcome(.retry, "service-closing", .transport) }
        return reply.code < 500 ? passing : lasting
    }

    /// 4yz, and 2yz and 3yz where they make no sense.
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

    /// 5yz.
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
        // No such mailbox, no such domain, no mailbox by its form, it has moved, its domain takes no mail, it is
        // disabled.
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

    /// Subject and detail of the enhanced status, where its kind is that of the code.
    private var status: (Int, Int)? {
        guard let status = reply.status, status.kind == reply.code / 100 else { return nil }
        return (status.subject, status.detail)
    }

    private func outcome(_ kind: Outcome.Kind, _ reason: String, _ scope: Outcome.Scope = .usual) -> Outcome {
        Outcome(kind, status: reply.code, reason: reason, scope: scope)
    }
}
