import Nostr
import Testing

@testable import Rules

@Suite struct URLTextTests {
    private func url(_ template: String, content: String) throws -> String {
        try Template(template, in: .url).render(TemplateValues(Fixture.input(kind: 1, content: content)))
    }

    @Test(arguments: [
        ("plain-text_1.~", "plain-text_1.~"), ("a/b?c#d&e=f", "a%2Fb%3Fc%23d%26e%3Df"), ("ü ☃", "%C3%BC%20%E2%98%83"),
        ("%2e%2e/", "%252e%252e%2F"), ("..", ""), (".", ""), ("...", "..."), ("@evil.example", "%40evil.example"),
        ("a\r\nHost: b", "a%20Host%3A%20b"), ("\u{202E}a", "a"),
    ])
    func whatIsPutInCannotEndThePartItStandsIn(_ content: String, _ encoded: String) throws {
        #expect(try url("https://x/{{event.content}}", content: content) == "https://x/" + encoded)
    }

    @Test func keysAndIDsStayAsTheyAre() throws {
        #expect(try url("nostr:{{note(event.id)}}", content: "") == "nostr:" + NIP19.note(Fixture.eventID))
        #expect(try url("app://{{event.id}}", content: "") == "app://" + Fixture.eventID.hex)
    }

    @Test(arguments: [
        ("https://example.com/a?b=c&d#e", "https://example.com/a?b=c&d#e"), ("HTTP://x", "HTTP://x"),
        ("nostr:npub1x", "nostr:npub1x"), ("lightning:lnbc1", "lightning:lnbc1"),
        ("https://example.com/ü \"<>", "https://example.com/%C3%BC%20%22%3C%3E"), ("javascript:alert(1)", ""),
        ("file:///etc/passwd", ""), ("data:text/html,x", ""), ("no url", ""), ("https:", ""), ("", ""),
        ("java\u{200B}script:x", ""), (" https://x", ""), ("//evil.example", ""),
        ("https://x\r\nSet-Cookie: a", "https://x%20Set-Cookie:%20a"),
    ])
    func wholeURLsAreOfHarmlessSchemes(_ content: String, _ expected: String) throws {
        #expect(try url("{{event.content}}", content: content) == expected)
        #expect(try url("{{#event.content}}{{event.content}}{{/event.content}}", content: content) == expected)
    }
}
