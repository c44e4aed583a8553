import CarillonABI
import Core
import Foundation
import PluginKit
import PluginTestSupport
import Testing
import TimeTestSupport

@testable import EmailTransport

struct OutgoingMailTests {
    /// The message that is sent for a sample, with line feeds as line ends.
    private func message(
        _ sample: SampleNotification,
        _ more: [String: any Sendable] = [:],
        allows8Bit: Bool = false
    ) throws -> String {
        let block = try JSONObject(TransportFixture.block.merging(more) { $1 })
        let configuration = try EmailConfiguration(block)
        let recipient = try #require(EmailAddress("bob@example.net"))
        let mail = try sample.withABI { notification in
            try OutgoingMail(
                Notification(notification),
                to: recipient,
                from: configuration.sender,
                now: ManualClock.start
            )
        }
        let bytes = mail.content(allows8Bit: allows8Bit).bytes
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(text.components(separatedBy: "\r\n").allSatisfy { !$0.contains("\n") && !$0.contains("\r") })
        #expect(text.components(separatedBy: "\r\n").allSatisfy { $0.utf8.count <= 998 })
        return text.replacingOccurrences(of: "\r\n", with: "\n")
    }

    private func header(_ name: String, of message: String) -> String? {
        let header = message.components(separatedBy: "\n\n")[0].replacingOccurrences(of: "\n ", with: " ")
        return header.components(separatedBy: "\n").first { $0.hasPrefix("\(name): ") }
            .map { String($0.dropFirst(name.count + 2)) }
    }

    private func text(of message: String) -> String {
        String(message[(message.range(of: "\n\n")?.upperBound ?? message.startIndex)...])
    }

    @Test func messageIsComplete() throws {
        let more: [String: any Sendable] = [
            "from_name": "Carillon \"Push\"", "list_id": "push.example.org", "reply_to": "help@example.org",
            "unsubscribe_mailto": "leave@example.org",
            "unsubscribe_url": "https://example.org/leave?address={address}&x=1", "footer": "Sent by Carillon.",
        ]
        var sample = SampleNotification.alert(title: "Alice", body: "See you\nat noon.")
        sample.urgency = .CARILLON_HIGH
        #expect(
            try message(sample, more) == """
                From: "Carillon \\"Push\\"" <push@example.org>
                To: <bob@example.net>
                Subject: Alice
                Date: Mon, 02 Feb 2026 02:40:00 +0000
                Message-ID: <6c0f5f4e-9f4e-4c57-8c2e-0a1b2c3d4e5f@example.org>
                Reply-To: <help@example.org>
                Importance: high
                Auto-Submitted: auto-generated
                List-Id: <push.example.org>
                List-Unsubscribe: <https://example.org/leave?address=bob%40example.net&x=1>,
                 <mailto:leave@example.org?subject=unsubscribe>
                List-Unsubscribe-Post: List-Unsubscribe=One-Click
                MIME-Version: 1.0
                Content-Type: text/plain; charset=utf-8
                Content-Transfer-Encoding: 7bit

                See you
                at noon.

                -- 
                Sent by Carillon.

                """
        )
    }

    @Test func hostileTextStaysInItsField() throws {
        var sample = SampleNotification.alert(
            title: "Hi\r\nBcc: eve@example.com\n\nbody =?UTF-8?Q?=0D=0A?=",
            body: "one\r.\r\n.\nthree\u{0}\u{1B}[2J\u{85}"
        )
        sample.thread = "a>\r\nX: y"
        sample.id = "x>\r\nX: y"
        sample.url = "nostr:\r\nx"
        let message = try message(sample)
        let names = message.components(separatedBy: "\n\n")[0].components(separatedBy: "\n").filter {
            !$0.hasPrefix(" ")
        }
        .map { String($0.prefix { $0 != ":" }) }
        #expect(
            names == [
                "From", "To", "Subject", "Date", "Message-ID", "References", "Auto-Submitted", "MIME-Version",
                "Content-Type", "Content-Transfer-Encoding",
            ]
        )
        let stuffed = SMTPSession.stuffed([UInt8]("a\r\n.\r\n..b\r\n".utf8))
        #expect(String(decoding: stuffed, as: UTF8.self) == "a\r\n..\r\n...b\r\n.\r\n")
    }

    @Test func headersOfAnyScriptAreEncodedAndFolded() throws {
        let title = String(repeating: "Grüße 👋🏽 aus Łódź ", count: 6)
        let message = try message(.alert(title: title, body: "x"), ["from_name": "Glockenspiel für alle"])
        #expect(
            message.components(separatedBy: "\n\n")[0].components(separatedBy: "\n").allSatisfy { $0.utf8.count <= 78 }
        )
        #expect(header("Subject", of: message)?.hasPrefix("=?UTF-8?Q?Gr=C3=BC=C3=9Fe") == true)
        #expect(header("From", of: message)?.hasSuffix("?= <push@example.org>") == true)
    }

    @Test func textsAreEncodedAsTheServerTakesThem() throws {
        let german = "Schöne Grüße aus dem Süden, bis morgen früh um 8 = acht Uhr! \nEnde"
        let quoted = try message(.alert(title: "t", body: german))
        #expect(header("Content-Transfer-Encoding", of: quoted) == "quoted-printable")
        #expect(
            text(of: quoted)
                == "Sch=C3=B6ne Gr=C3=BC=C3=9Fe aus dem S=C3=BCden, bis morgen fr=C3=BCh um 8 =\n=3D acht Uhr!=20\nEnde\n"
        )
        let plain = try message(.alert(title: "t", body: german), allows8Bit: true)
        #expect(header("Content-Transfer-Encoding", of: plain) == "8bit" && text(of: plain) == german + "\n")
        let greek = String(repeating: "Καλημέρα κόσμε ", count: 20)
        let based = try message(.alert(title: "t", body: greek))
        #expect(header("Content-Transfer-Encoding", of: based) == "base64")
        #expect(text(of: based).split(separator: "\n").allSatisfy { $0.utf8.count <= 76 })
        let decoded = Data(base64Encoded: text(of: based).replacingOccurrences(of: "\n", with: ""))
        #expect(decoded.map { String(decoding: $0, as: UTF8.self) } == greek + "\r\n")
        // One line longer than the limit of servers.
        let long = try message(.alert(title: "t", body: String(repeating: "x", count: 3000)), allows8Bit: true)
        #expect(header("Content-Transfer-Encoding", of: long) == "quoted-printable")
        #expect(text(of: long).split(separator: "\n").allSatisfy { $0.utf8.count <= 76 })
    }

    @Test func modeDecidesTheContent() throws {
        let wake = try message(.wake("dm", count: 3), ["batch_message": "{n} new things"])
        #expect(header("Subject", of: wake) == "3 new things" && text(of: wake) == "3 new things\n")
        let nudge = try message(.nudge("dm", title: "New message"))
        #expect(header("Subject", of: nudge) == "New message" && text(of: nudge) == "New message\n")
        var alert = SampleNotification.alert(title: "", body: "First line\nSecond")
        alert.subtitle = "Sub"
        alert.url = "https://example.com/note"
        alert.actions = [
            .init(id: "a", label: "Reply", url: "https://example.com/reply"), .init(id: "b", label: "Mute"),
        ]
        alert.thread = "note"
        let shown = try message(alert)
        #expect(header("Subject", of: shown) == "First line")
        #expect(
            text(of: shown)
                == "Sub\n\nFirst line\nSecond\n\nReply: https://example.com/reply\nhttps://example.com/note\n"
        )
        #expect(header("References", of: shown)?.hasSuffix(".thread@example.org>") == true)
    }

    @Test func batchShowsItsNumberOfEvents() throws {
        var sample = SampleNotification.alert(title: "Alice and others", body: "liked your note")
        sample.count = 5
        #expect(text(of: try message(sample)) == "liked your note\n\n5 new notifications\n")
        sample.title = "5 new notifications"
        sample.body = ""
        #expect(text(of: try message(sample)) == "5 new notifications\n")
        sample.native = #"{"subject":"Digest"}"#
        #expect(header("Subject", of: try message(sample)) == "Digest")
    }

    @Test(
        arguments: [
            (0, "Thu, 01 Jan 1970 00:00:00 +0000"), (951_782_399, "Mon, 28 Feb 2000 23:59:59 +0000"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 +0000"), (4_102_444_799, "Thu, 31 Dec 2099 23:59:59 +0000"),
        ] as [(Int64, String)]
    )
    func writesDates(_ seconds: Int64, _ text: String) {
        #expect(HeaderField.date(Timestamp(seconds: seconds)) == text)
    }
}
