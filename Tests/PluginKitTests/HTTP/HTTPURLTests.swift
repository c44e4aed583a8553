import PluginKit
import Testing

struct HTTPURLTests {
    @Test(arguments: [
        ("https://ntfy.example.com/up123?up=1", "https://ntfy.example.com", "/up123?up=1"),
        ("http://10.0.0.1:8080", "http://10.0.0.1:8080", ""),
        ("HTTPS://Example.COM?x=%2F", "HTTPS://Example.COM", "?x=%2F"),
        ("https://[2001:db8::1]:443/a", "https://[2001:db8::1]:443", "/a"),
        ("https://my_push.example/x", "https://my_push.example", "/x"), ("https://localhost", "https://localhost", ""),
        ("https://xn--bcher-kva.example/", "https://xn--bcher-kva.example", "/"),
    ])
    func validURLIsAccepted(_ text: String, _ origin: String, _ target: String) throws {
        let url = try #require(HTTPURL(text))
        #expect(url.origin == origin)
        #expect(url.target == target)
        #expect(url.isSecure == text.lowercased().hasPrefix("https"))
    }

    @Test(arguments: [
        "", "example.com", "//example.com", "ftp://example.com", "https:/example.com", "h:ttp://example.com",
        "https:://example.com", "https://", "https:///x",
        "https://user@example.com", "https://user:pw@example.com/", "https://example.com:0/",
        "https://example.com:65536",
        "https://example.com:/", "https://example.com:8a", "https://a b/", "https://exa\u{0}mple.com",
        "https://bücher.de/",
        "https://example.com/\r\nHost: x", "https://example.com/#f", "https://example.com/%", "https://example.com/%2",
        "https://example.com/%zz", "https://example.com/\"", "https://example.com/ü", "https://example.com\\@evil/",
        "https://[::1", "https://[::1]x/", "https://[zz::1]/", "https://[]/", "javascript://example.com/",
        " https://e.com",
        "https://example.com:+80/", "https://example.com./", "https://.example.com/", "https://a..b/", "https://./",
        "https://-a.example/", "https://a-.example/", "https://\(String(repeating: "a", count: 64)).example/",
        "https://127.1/", "https://2130706433/", "https://0x7f000001/", "https://127.0.0.01/", "https://256.0.0.1/",
        "https://a.b.1/",
    ])
    func invalidURLIsRefused(_ text: String) {
        #expect(HTTPURL(text) == nil)
    }
}
