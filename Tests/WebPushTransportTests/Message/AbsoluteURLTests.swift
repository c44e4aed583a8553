import Testing

@testable import WebPushTransport

struct AbsoluteURLTests {
    @Test(arguments: [
        "https://example.com", "https://example.com/a?b#c", "HTTP://[::1]:80/", "nostr:note1abc", "app+x.y-z://reply/1",
        "https://exämple.com/ü", "mailto:a@b",
    ])
    func isOne(_ text: String) {
        #expect(AbsoluteURL.isOne(text))
    }

    @Test(arguments: [
        "", ":", "nostr:", "/path", "path", "//example.com", "https:", "https:example.com", "https://", "https:///x",
        "https://?x", "1x:y", "ex ample:x", "https://example.com/a b", "https://example.com/\n", "ünix:x", "a/b:c",
    ])
    func otherTextIsNotAnAbsoluteURL(_ text: String) {
        #expect(!AbsoluteURL.isOne(text))
    }
}
