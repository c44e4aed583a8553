import Testing

@testable import HTTPClient

struct URLPartsTests {
    private static let spellings = [
        ("https://example.com", "https://example.com/"),
        ("HTTPS://Example.COM/Path", "https://example.com/Path"),
        ("https://example.com:443/a", "https://example.com/a"),
        ("http://example.com:443/a", "http://example.com:443/a"),
        ("http://example.com:80?x=1", "http://example.com/?x=1"),
        ("https://a_b.example:8443/up/./x/../y?d=%2F#part", "https://a_b.example:8443/up/./x/../y?d=%2F"),
        ("https://192.0.2.7/", "https://192.0.2.7/"),
        ("https://[2001:DB8::1]:8443/x", "https://[2001:db8::1]:8443/x"),
        ("https://example.com/user@host:pass", "https://example.com/user@host:pass"),
        ("https://example.com/a/~!$&'()*+,;=:@-._", "https://example.com/a/~!$&'()*+,;=:@-._"),
    ]

    @Test(arguments: spellings)
    func urlIsNormalized(_ text: String, _ normalized: String) throws {
        #expect(try #require(URLParts(text)).normalized == normalized)
    }

    private static let malformed = [
        "", "https", "https:", "https:/", "https://", "https:///x", "//example.com/", "example.com",
        "ftp://example.com/",
        "file:///etc/passwd", "gopher://example.com/", "javascript:alert(1)", " https://example.com/",
        "https ://example.com/",
        "https://user@example.com/", "https://user:pass@example.com/", "https://@example.com/",
        "https://example.com@evil/",
        "https://exa mple.com/", "https://example.com/a b", "https://example.com/\r\nX: 1", "https://example.com/\u{0}",
        "https://example.com\\@evil/", "https://example.com/\\evil", "https://ex%61mple.com/", "https://exämple.com/",
        "https://example.com/ä", "https://example.com/%", "https://example.com/%2", "https://example.com/%zz",
        "https://example.com:/", "https://example.com:0/", "https://example.com:65536/", "https://example.com:+80/",
        "https://example.com:8 0/", "https://example.com:80:80/", "https://.example.com/", "https://example..com/",
        "https://example.com./", "https://-a.example/", "https://a-.example/", "https://[::1/", "https://::1/",
        "https://[::1%25lo]/", "https://[::1]x/", "https://[127.0.0.1]/", "https://[]/", "https://2130706433/",
        "https://0177.0.0.1/", "https://0x7f.0.0.1/", "https://0x7f000001/", "https://127.1/", "https://127.0.1/",
        "https://127.0.0.1.2/", "https://1.2.3.256/", "https://example.0x1/", "https://example.1/",
        "https://①②⑦.0.0.1/",
        "https://127。0。0。1/", "https://example.com/<x>", "https://example.com/{x}", "https://example.com/a|b",
    ]

    @Test(arguments: malformed)
    func aMalformedURLIsRefused(_ text: String) {
        #expect(URLParts(text) == nil)
    }

    @Test func anEndlessURLIsRefused() {
        #expect(URLParts("https://example.com/" + String(repeating: "a", count: 8_192)) == nil)
        #expect(URLParts("https://" + String(repeating: "a.", count: 200) + "com/") == nil)
    }
}
