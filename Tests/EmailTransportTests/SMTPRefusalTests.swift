import PluginKit
import Testing

@testable import EmailTransport

/// Replies of servers that reject a message, row by row (RFC 5321 section 4.2.3, RFC 3463, RFC 4954 section 6).
struct SMTPRefusalTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let phase: SMTPError.Phase
        let code: UInt32
        let text: String
        let kind: Outcome.Kind
        let reason: String
        var scope: Outcome.Scope

        init(
            _ phase: SMTPError.Phase,
            _ code: UInt32,
            _ text: String,
            _ kind: Outcome.Kind,
            _ reason: String,
            _ scope: Outcome.Scope = .usual
        ) {
            (self.phase, self.code, self.text) = (phase, code, text)
            (self.kind, self.reason, self.scope) = (kind, reason, scope)
        }

        var testDescription: String { "\(phase.rawValue) \(code) \(text): \(kind) \(reason)" }
    }

    private static let rows: [Row] = [
        Row(.greeting, 421, "4.3.2 too many connections", .retry, "service-closing", .transport),
        Row(.greeting, 450, "busy", .retry, "server-busy", .transport),
        Row(.greeting, 554, "5.7.1 you are on a list", .misconfigured, "not-welcome"),
        Row(.greeting, 250, "what?", .retry, "protocol", .transport),
        Row(.hello, 451, "later", .retry, "server-busy", .transport),
        Row(.hello, 550, "bad name", .misconfigured, "hello-refused"),
        Row(.startTLS, 454, "4.7.0 TLS not available", .retry, "tls-unavailable", .transport),
        Row(.startTLS, 501, "syntax", .misconfigured, "starttls-refused"),
        Row(.login, 454, "4.7.0 try later", .retry, "login-unavailable", .transport),
        Row(.login, 535, "5.7.8 wrong", .misconfigured, "bad-credentials"),
        Row(.login, 534, "5.7.9 too weak", .misconfigured, "bad-credentials"),
        Row(.login, 421, "4.7.0 too many failures", .retry, "service-closing", .transport),
        Row(.sender, 451, "4.3.0 trouble", .retry, "sender-deferred", .transport),
        Row(.sender, 452, "4.3.1 no space", .retry, "sender-deferred", .transport),
        Row(.sender, 530, "5.7.0 authentication required", .misconfigured, "login-required"),
        Row(.sender, 550, "5.7.1 not your address", .misconfigured, "sender-refused"),
        Row(.sender, 553, "5.1.8 no such sender", .misconfigured, "sender-refused"),
        Row(.sender, 553, "5.6.7 needs SMTPUTF8", .rejected, "not-supported"),
        Row(.sender, 552, "too big", .rejected, "payload-too-large"),
        Row(.sender, 555, "parameter", .rejected, "not-supported"),
        Row(.recipient, 421, "4.4.2 timeout", .retry, "service-closing", .transport),
        Row(.recipient, 450, "4.2.1 mailbox busy", .retry, "deferred", .device),
        Row(.recipient, 450, "4.7.1 greylisted", .retry, "greylisted", .device),
        Row(.recipient, 451, "4.7.500 later", .retry, "greylisted", .device),
        Row(.recipient, 451, "4.3.0 aborted", .retry, "server-busy", .transport),
        Row(.recipient, 452, "4.2.2 over quota", .retry, "mailbox-full", .device),
        Row(.recipient, 452, "no space", .retry, "server-busy", .device),
        Row(.recipient, 450, "4.4.1 cannot reach that domain", .retry, "deferred", .device),
        Row(.recipient, 550, "5.1.1 no such user", .gone, "mailbox-unknown"),
        Row(.recipient, 550, "5.1.2 no such domain", .gone, "mailbox-unknown"),
        Row(.recipient, 553, "5.1.3 bad syntax", .gone, "mailbox-unknown"),
        Row(.recipient, 551, "5.1.6 moved", .gone, "mailbox-unknown"),
        Row(.recipient, 556, "5.1.10 null MX", .gone, "mailbox-unknown"),
        Row(.recipient, 550, "5.2.1 disabled", .gone, "mailbox-unknown"),
        Row(.recipient, 552, "5.2.2 full", .rejected, "mailbox-full"),
        Row(.recipient, 552, "full", .rejected, "mailbox-full"),
        Row(.recipient, 552, "5.3.4 too big", .rejected, "payload-too-large"),
        Row(.recipient, 530, "5.7.0 authentication required", .misconfigured, "login-required"),
        Row(.recipient, 554, "5.7.1 relay access denied", .rejected, "policy"),
        Row(.recipient, 550, "5.7.25 no reverse DNS", .rejected, "policy"),
        // The rejection may concern the router: without an enhanced status the device is not removed.
        Row(.recipient, 550, "mailbox unavailable", .rejected, "mailbox-refused"),
        Row(.recipient, 550, "4.1.1 of another kind than the code", .rejected, "mailbox-refused"),
        Row(.recipient, 553, "mailbox name not allowed", .rejected, "mailbox-refused"),
        Row(.recipient, 503, "bad sequence", .rejected, "protocol"),
        Row(.recipient, 200, "what?", .retry, "protocol", .transport),
        Row(.content, 451, "4.3.0 local error", .retry, "server-busy", .transport),
        Row(.content, 451, "4.7.1 try again", .retry, "greylisted", .device),
        Row(.content, 452, "4.2.2 full", .retry, "mailbox-full", .device),
        Row(.content, 550, "5.1.1 no such user", .gone, "mailbox-unknown"),
        Row(.content, 552, "too big", .rejected, "payload-too-large"),
        Row(.content, 552, "5.2.3 too big", .rejected, "payload-too-large"),
        Row(.content, 554, "5.6.0 conversion", .rejected, "content-refused"),
        Row(.content, 554, "5.7.1 spam", .rejected, "policy"),
        Row(.content, 554, "transaction failed", .rejected, "content-refused"),
    ]

    @Test(arguments: rows)
    func everyRefusal(_ row: Row) {
        let outcome = SMTPError(phase: row.phase, reply: SMTPReply(code: row.code, lines: [row.text])).outcome
        #expect(outcome == Outcome(row.kind, status: row.code, reason: row.reason, scope: row.scope))
    }

    @Test func everyPhaseHasRows() {
        for phase in SMTPError.Phase.allCases { #expect(Self.rows.contains { $0.phase == phase }) }
    }
}
