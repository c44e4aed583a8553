import Testing

@testable import EmailTransport

struct SMTPReplyTests {
    private var parser = SMTPReplyParser()

    private mutating func take(_ text: String) throws -> [SMTPReply] { try parser.take([UInt8](text.utf8)) }

    @Test mutating func readsRepliesHoweverTheyArrive() throws {
        #expect(try take("220 mx.exam").isEmpty)
        #expect(parser.isInTheMiddle)
        #expect(
            try take("ple.com ESMTP\r\n250-one\r\n250 two\r\n") == [
                SMTPReply(code: 220, lines: ["mx.example.com ESMTP"]), SMTPReply(code: 250, lines: ["one", "two"]),
            ]
        )
        #expect(!parser.isInTheMiddle)
        #expect(try take("250\r\n354 \n") == [SMTPReply(code: 250, lines: [""]), SMTPReply(code: 354, lines: [""])])
    }

    @Test(arguments: [
        "HTTP/1.1 400 Bad Request\r\n", "25 short\r\n", "\r\n", "250?x\r\n", "250-a\r\n251 b\r\n", "650 x\r\n",
        "199 x\r\n",
        String(repeating: "2", count: 5000), String(repeating: "250-x\r\n", count: 200),
    ])
    mutating func invalidReplyIsRefused(_ text: String) {
        #expect(throws: SMTPReplyParser.Malformed.self) { try take(text) }
    }

    @Test func readsEnhancedStatuses() {
        #expect(SMTPReply(code: 550, lines: ["5.1.1 no such user"]).status == EnhancedStatus(5, 1, 1))
        #expect(SMTPReply(code: 550, lines: ["5.7.1 a", "5.7.26 b"]).status == EnhancedStatus(5, 7, 26))
        for text in ["no such user", "5.1 x", "5.1.1.1 x", "3.1.1 x", "5.a.1 x", "5.1.1000 x", ""] {
            #expect(EnhancedStatus(text) == nil, "\(text)")
        }
    }

    @Test func serverExtensionsAreRead() {
        let lines = [
            "mx Hello", "SIZE 35882577", "8BITMIME", "STARTTLS", "AUTH LOGIN plain XOAUTH2", "SMTPUTF8", "PIPELINING",
        ]
        let extensions = SMTPExtensions(SMTPReply(code: 250, lines: lines))
        #expect(extensions.size == 35_882_577 && extensions.declaresSize)
        #expect(extensions.eightBit && extensions.startTLS && extensions.utf8)
        #expect(extensions.mechanisms == ["LOGIN", "PLAIN", "XOAUTH2"])
        let others = SMTPExtensions(SMTPReply(code: 250, lines: ["mx", "SIZE", "AUTH=PLAIN"]))
        #expect(others.size == nil && others.declaresSize && others.mechanisms == ["PLAIN"])
        #expect(SMTPExtensions(SMTPReply(code: 250, lines: ["mx", "SIZE 0"])).size == nil)
    }
}
