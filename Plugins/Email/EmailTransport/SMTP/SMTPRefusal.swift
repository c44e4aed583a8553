import PluginKit

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
