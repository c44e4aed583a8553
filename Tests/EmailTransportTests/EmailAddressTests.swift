import Testing

@testable import EmailTransport

struct EmailAddressTests {
    @Test(arguments: [
        "alice@example.com", "a.b+tag@sub.example.co.uk", "o'neil@example.com", "jörg@example.com", "a@bücher.example",
        String(repeating: "a", count: 64) + "@example.com",
    ])
    func commonAddressesAreAccepted(_ text: String) throws {
        let address = try #require(EmailAddress(text))
        #expect(address.text == text)
        #expect(address.needsUTF8 == !text.utf8.allSatisfy { $0 < 0x80 })
    }

    @Test(arguments: [
        "", "alice", "@example.com", "alice@", "a@b@example.com", "alice@localhost", "alice@127.0.0.1",
        "alice@[127.0.0.1]", "alice@example..com", "alice@-example.com", ".alice@example.com", "al..ice@example.com",
        "alice @example.com", "alice@example.com\r\nRCPT TO:<bob@example.com>", "alice@example.com\n",
        "<alice@example.com>",
        "\"al ice\"@example.com", "alice,bob@example.com", "alice@example.com>", "bob%example.org@example.com",
        "example.org!bob@example.com", "alice\u{202E}@example.com", "alice\u{2028}@example.com",
        "alice@exam\u{A0}ple.com",
        String(repeating: "a", count: 65) + "@example.com", "a@" + String(repeating: "a", count: 64) + ".com",
        "a@" + String(repeating: "abcdefghi.", count: 30) + "com", "alice@example.com\0", "al\0ice@example.com",
        "alice@exa_mple.com", "alice@example.123",
    ])
    func invalidAddressIsRefused(_ text: String) {
        #expect(EmailAddress(text) == nil)
    }
}
