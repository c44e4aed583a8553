import CarillonABI
import PluginKit
import PluginTestSupport
import Testing

@testable import EmailTransport

/// Dialogues with a mail server over the host's streams.
struct EmailTransportTests {
    private func outcome(
        _ kind: carillon_outcome_kind,
        _ reason: String,
        status: UInt32 = 0,
        ticket: UInt64 = 1,
        scope: carillon_scope = .CARILLON_SCOPE_DEFAULT
    ) -> RecordedOutcome {
        RecordedOutcome(ticket: ticket, kind: kind, status: status, reason: reason, scope: scope)
    }

    private static func delivered(_ ticket: UInt64) -> RecordedOutcome {
        RecordedOutcome(ticket: ticket, kind: .CARILLON_DELIVERED, status: 250, reason: "delivered")
    }

    @Test func sendsAMessageAndTheNextOverTheSameConnection() throws {
        let fixture = try TransportFixture(["hello": "push.example.org", "return_path": "bounces@example.org"])
        #expect(try fixture.deliver() == .CARILLON_OK)
        let stream = try #require(fixture.host.streams.all.first)
        #expect(stream.host == "smtp.example.com" && stream.port == 25 && !stream.usesTLS && !stream.isUntrusted)
        #expect(stream.text.isEmpty)
        fixture.welcome()
        fixture.take()
        #expect(fixture.host.outcomes == [Self.delivered(1)])
        try fixture.deliver(to: "carol@example.net", ticket: 2)
        fixture.take()
        #expect(fixture.host.outcomes == [Self.delivered(1), Self.delivered(2)])
        #expect(fixture.host.streams.all.count == 1)
        let size = fixture.message().utf8.count
        #expect(
            fixture.commands() == [
                "EHLO push.example.org", "MAIL FROM:<bounces@example.org> SIZE=\(size - 2)",
                "RCPT TO:<bob@example.net>",
                "DATA", "MAIL FROM:<bounces@example.org> SIZE=\(size)", "RCPT TO:<carol@example.net>", "DATA",
            ]
        )
    }

    @Test func tlsStartsBeforeTheGreeting() throws {
        let fixture = try TransportFixture(["security": "starttls", "username": "u", "password": "p"])
        try fixture.deliver()
        #expect(fixture.host.streams.all[0].port == 587)
        fixture.welcome(offers: ["STARTTLS", "AUTH LOGIN"])
        fixture.say("220 go ahead")
        #expect(fixture.host.streams.all[0].tlsStarts.count == 1)
        #expect(fixture.commands() == ["EHLO example.org", "STARTTLS"])
        fixture.host.streams.opened()
        fixture.say("250-mx")
        fixture.say("250 AUTH PLAIN LOGIN")
        fixture.say("235 2.7.0 welcome")
        fixture.take()
        #expect(fixture.commands()[2...3] == ["EHLO example.org", "AUTH PLAIN AHUAcA=="])
        #expect(fixture.host.outcomes == [Self.delivered(1)])
    }

    @Test func dataInjectedBeforeTLSIsRefused() throws {
        let fixture = try TransportFixture(["security": "starttls"])
        try fixture.deliver()
        fixture.welcome(offers: ["STARTTLS"])
        fixture.host.streams.receive("220 go ahead\r\n250-injected\r\n")
        #expect(fixture.host.outcomes.map(\.reason) == ["protocol"])
        #expect(fixture.host.streams.all[0].isClosing)
    }

    @Test func loginFallsBackFromPLAINToLOGIN() throws {
        let fixture = try TransportFixture(["security": "tls", "username": "user", "password": "pass"])
        try fixture.deliver()
        #expect(fixture.host.streams.all[0].usesTLS && fixture.host.streams.all[0].port == 465)
        fixture.welcome(offers: ["AUTH LOGIN"])
        fixture.say("334 VXNlcm5hbWU6")
        fixture.say("334 UGFzc3dvcmQ6")
        fixture.say("235 welcome")
        #expect(fixture.commands().dropFirst().prefix(3) == ["AUTH LOGIN", "dXNlcg==", "cGFzcw=="])
        #expect(fixture.commands().last?.hasPrefix("MAIL FROM") == true)
    }

    @Test func wrongPasswordIsMisconfiguredAndEndsAllQueuedMessages() throws {
        let fixture = try TransportFixture(["security": "tls", "username": "u", "password": "wrong", "connections": 1])
        try fixture.deliver(ticket: 1)
        try fixture.deliver(ticket: 2)
        fixture.welcome(offers: ["AUTH PLAIN"])
        fixture.say("535 5.7.8 u is unknown")
        let expected = [1, 2].map { outcome(.CARILLON_MISCONFIGURED, "bad-credentials", status: 535, ticket: $0) }
        #expect(fixture.host.outcomes == expected)
        #expect(fixture.host.streams.all[0].isClosing)
        #expect(fixture.host.log == ["the mail server refused username and password (535)"])
        fixture.host.streams.end()
        // It is tried again with the next message.
        try fixture.deliver(ticket: 3)
        #expect(fixture.host.streams.all.count == 2)
    }

    @Test(arguments: [("starttls", [], "starttls-missing"), ("tls", ["AUTH CRAM-MD5"], "no-login-mechanism")])
    func serverWithoutARequiredExtensionIsMisconfigured(
        _ security: String,
        _ offers: [String],
        _ reason: String
    ) throws {
        let fixture = try TransportFixture(["security": security, "username": "u", "password": "p"])
        try fixture.deliver()
        fixture.welcome(offers: offers)
        #expect(fixture.host.outcomes == [outcome(.CARILLON_MISCONFIGURED, reason)])
        #expect(!fixture.host.streams.all[0].text.contains("AUTH"))
    }

    @Test func connectionClosedBetweenMessagesLosesNone() throws {
        let fixture = try TransportFixture()
        try fixture.deliver(ticket: 1)
        fixture.welcome()
        fixture.take()
        // The server has closed it, which shows only when the next message starts.
        try fixture.deliver(ticket: 2)
        fixture.host.streams.end(0, "reset")
        #expect(fixture.host.streams.all.count == 2)
        fixture.welcome(1)
        fixture.take(on: 1)
        #expect(fixture.host.outcomes == [Self.delivered(1), Self.delivered(2)])
        // Once is enough.
        try fixture.deliver(ticket: 3)
        fixture.say("421 4.4.2 idle", on: 1)
        fixture.host.streams.end(1)
        fixture.welcome(2)
        fixture.host.streams.end(2)
        #expect(
            fixture.host.outcomes.last
                == outcome(.CARILLON_RETRY, "closed", ticket: 3, scope: .CARILLON_SCOPE_TRANSPORT)
        )
    }

    @Test func aConnectionThatEndsWhileIdleIsForgotten() throws {
        let fixture = try TransportFixture(["idle_seconds": 30])
        try fixture.deliver(ticket: 1)
        #expect(fixture.host.streams.all[0].idleTimeout == 30_000)
        fixture.welcome()
        fixture.take()
        fixture.say("421 4.4.2 idle")
        #expect(fixture.host.streams.all[0].isClosing)
        fixture.host.streams.end(0)
        try fixture.deliver(ticket: 2)
        fixture.welcome(1)
        fixture.take(on: 1)
        #expect(fixture.host.outcomes == [Self.delivered(1), Self.delivered(2)])
    }

    @Test func serverThatDisconnectsMidwayIsRetried() throws {
        let fixture = try TransportFixture(["connections": 1])
        try fixture.deliver(ticket: 1)
        try fixture.deliver(ticket: 2)
        fixture.welcome()
        fixture.say("250 sender")
        fixture.say("421 4.3.2 shutting down")
        let leaving = outcome(.CARILLON_RETRY, "service-closing", status: 421, scope: .CARILLON_SCOPE_TRANSPORT)
        #expect(fixture.host.outcomes == [leaving])
        fixture.host.streams.end(0)
        fixture.welcome(1)
        fixture.take(on: 1)
        #expect(fixture.host.outcomes.last == Self.delivered(2))
    }

    @Test func connectionLostAfterTheMessageIsRetried() throws {
        let fixture = try TransportFixture()
        try fixture.deliver(ticket: 1)
        fixture.welcome()
        for line in ["250 sender", "250 recipient", "354 go ahead"] { fixture.say(line) }
        let first = fixture.message()
        fixture.host.streams.end(0, "reset")
        #expect(fixture.host.outcomes == [outcome(.CARILLON_RETRY, "reset", scope: .CARILLON_SCOPE_TRANSPORT)])
        try fixture.deliver(ticket: 2)
        fixture.welcome(1)
        fixture.take(on: 1)
        // A repetition is recognizable.
        let messageID = "Message-ID: <6c0f5f4e-9f4e-4c57-8c2e-0a1b2c3d4e5f@example.org>\r\n"
        #expect(first.contains(messageID) && fixture.message(1).contains(messageID))
    }

    @Test func aRefusedRecipientDoesNotEndTheConnection() throws {
        let fixture = try TransportFixture(["connections": 1])
        try fixture.deliver(ticket: 1)
        try fixture.deliver(to: "carol@example.net", ticket: 2)
        fixture.welcome()
        fixture.say("250 sender")
        fixture.say("550 5.1.1 bob is unknown")
        #expect(fixture.host.outcomes == [outcome(.CARILLON_GONE, "mailbox-unknown", status: 550)])
        #expect(fixture.commands().last == "RSET")
        fixture.say("250 flushed")
        fixture.take()
        #expect(fixture.host.outcomes.last == Self.delivered(2))
        #expect(!fixture.host.log.joined().contains("bob"))
    }

    @Test func messagesShareAFewConnections() throws {
        let fixture = try TransportFixture(["connections": 2])
        for ticket in 1...5 { try fixture.deliver(ticket: UInt64(ticket)) }
        #expect(fixture.host.streams.all.count == 2)
        fixture.welcome(0)
        fixture.welcome(1)
        for _ in 0..<3 {
            fixture.take(on: 0)
            fixture.take(on: 1)
        }
        #expect(Set(fixture.host.outcomes) == Set((1...5).map { Self.delivered($0) }))
        #expect(fixture.host.streams.all.count == 2)
    }

    @Test func aServerWithRoomForOneConnectionGetsOne() throws {
        let fixture = try TransportFixture(["connections": 3])
        for ticket in 1...4 { try fixture.deliver(ticket: UInt64(ticket)) }
        #expect(fixture.host.streams.all.count == 3)
        fixture.welcome(0)
        for index in [1, 2] {
            fixture.host.streams.opened(index)
            fixture.say("421 4.7.0 too many connections", on: index)
            fixture.host.streams.end(index)
        }
        for _ in 1...4 { fixture.take(on: 0) }
        #expect(fixture.host.outcomes == (1...4).map { Self.delivered($0) })
        #expect(fixture.host.streams.all.count == 3)
    }

    @Test func unreachableServerEndsAllQueuedMessages() throws {
        let fixture = try TransportFixture(["connections": 2])
        for ticket in 1...3 { try fixture.deliver(ticket: UInt64(ticket)) }
        fixture.host.streams.end(0, "unreachable")
        #expect(fixture.host.outcomes.isEmpty)
        fixture.host.streams.end(1, "unreachable")
        let expected = (1...3).map {
            outcome(.CARILLON_RETRY, "unreachable", ticket: $0, scope: .CARILLON_SCOPE_TRANSPORT)
        }
        #expect(fixture.host.outcomes == expected)
        fixture.host.streams.setAdmission(.CARILLON_BUSY)
        try fixture.deliver(ticket: 4)
        #expect(fixture.host.outcomes.last?.reason == "no-stream")
    }

    @Test func nonSMTPServerIsDisconnected() throws {
        let fixture = try TransportFixture()
        try fixture.deliver()
        fixture.host.streams.opened()
        fixture.say("HTTP/1.1 400 Bad Request")
        #expect(fixture.host.outcomes == [outcome(.CARILLON_RETRY, "protocol", scope: .CARILLON_SCOPE_TRANSPORT)])
        #expect(fixture.host.streams.all[0].isClosing)
    }

    @Test func cancelledDeliveryStopsWaiting() throws {
        let fixture = try TransportFixture(["connections": 1])
        try fixture.deliver(ticket: 1)
        try fixture.deliver(ticket: 2)
        fixture.transport.cancel(2)
        fixture.welcome()
        fixture.take()
        #expect(fixture.host.outcomes == [outcome(.CARILLON_RETRY, "cancelled", ticket: 2), Self.delivered(1)])
    }

    @Test func messagesFitTheServer() throws {
        let fixture = try TransportFixture()
        try fixture.deliver(ticket: 1)
        fixture.welcome(offers: ["SIZE 100"])
        #expect(fixture.host.outcomes == [outcome(.CARILLON_REJECTED, "payload-too-large")])
        try fixture.deliver(to: "jörg@example.net", ticket: 2)
        #expect(fixture.host.outcomes.last == outcome(.CARILLON_REJECTED, "smtputf8-missing", ticket: 2))
        #expect(fixture.commands() == ["EHLO example.org"])
    }

    @Test func sendsToAddressesOfAnyScriptWhereTheServerCan() throws {
        let fixture = try TransportFixture()
        try fixture.deliver(to: "jörg@example.net")
        fixture.welcome(offers: ["SMTPUTF8", "8BITMIME"])
        #expect(fixture.commands().last == "MAIL FROM:<push@example.org> BODY=8BITMIME SMTPUTF8")
        fixture.take()
        #expect(fixture.commands()[2] == "RCPT TO:<jörg@example.net>")
        #expect(fixture.message().contains("To: <jörg@example.net>\r\n"))
    }

    @Test func unsupportedNotificationIsRefused() throws {
        let fixture = try TransportFixture(["domains": ["Example.net"]])
        #expect(try fixture.deliver(.envelope(#"{"v":1}"#, title: "t")) == .CARILLON_UNSUPPORTED)
        #expect(try fixture.deliver(to: "bob@example.net\r\nDATA") == .CARILLON_INVALID)
        #expect(try fixture.deliver(to: "bob@example.com") == .CARILLON_INVALID)
        try fixture.deliver(.alert(title: "", body: ""), to: "bob@EXAMPLE.net")
        #expect(fixture.host.outcomes == [outcome(.CARILLON_REJECTED, "payload-empty")])
        #expect(fixture.host.streams.all.isEmpty)
    }

    private static let mistakes: [([String: any Sendable], String)] = [
        (["server": ""], "server: expected the mail server's name, such as smtp.example.com, found another text"),
        (
            ["server": "smtp://x"],
            "server: expected the mail server's name, such as smtp.example.com, found another text"
        ),
        (
            ["server": "x.example:25"],
            "server: expected the mail server's name, such as smtp.example.com, found another text"
        ),
        (["port": 0], "port: expected a whole number from 1 to 65535, found 0"),
        (["security": "ssl"], "security: expected starttls or tls or none, found another text"),
        (
            ["from": "Carillon <push@example.org>"],
            "from: expected an address such as push@example.com, found another text"
        ),
        (["username": "u"], "username: expected both this and password, or neither"),
        (
            ["username": "u", "password": "p"],
            "password: expected security to be starttls or tls, or it is sent as plain text"
        ),
        (
            ["hello": "a b"],
            "hello: expected this machine's public name, such as push.example.com, found another text"
        ),
        (
            ["unsubscribe_url": "http://x.example/"],
            "unsubscribe_url: expected an https URL, such as https://example.com/unsubscribe?address={address}, "
                + "found another text"
        ),
        (["list_id": "a b"], "list_id: expected a name such as notifications.example.com, found another text"),
        (["domains": ["x"]], "domains: expected domains such as example.com, found another text"),
    ]

    @Test(arguments: mistakes.indices)
    func errorsInTheBlockAreNamed(_ index: Int) throws {
        let (change, sentence) = Self.mistakes[index]
        let block = try JSONObject(TransportFixture.block.merging(change) { $1 })
        do throws(PluginError) {
            _ = try EmailConfiguration(block)
            Issue.record("it was taken")
        } catch {
            #expect(error.description == sentence)
        }
    }
}
