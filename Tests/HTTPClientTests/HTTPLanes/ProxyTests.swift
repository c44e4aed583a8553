import Testing

@testable import HTTPClient

struct ProxyTests {
    @Test(
        arguments: [
            ("http://proxy.example:3128", "http", "proxy.example", 3128, nil),
            ("HTTP://Proxy.Example:80/", "http", "proxy.example", 80, nil),
            ("https://proxy.example:443", "https", "proxy.example", 443, nil),
            ("socks5h://10.0.0.1:1080", "socks5h", "10.0.0.1", 1080, nil),
            ("http://[::1]:8080", "http", "::1", 8080, nil),
            ("http://me:p%40s%3A@proxy.example:1", "http", "proxy.example", 1, "Basic bWU6cEBzOg=="),
            ("http://me@proxy.example:1", "http", "proxy.example", 1, "Basic bWU6"),
        ] as [(String, String, String, Int, String?)]
    )
    func proxyURLIsRead(_ url: String, _ scheme: String, _ host: String, _ port: Int, _ authorization: String?) throws {
        let proxy = try #require(Proxy(url))
        #expect(proxy.scheme.rawValue == scheme)
        #expect(proxy.host == host)
        #expect(proxy.port == port)
        #expect(proxy.authorization == authorization)
        #expect(proxy.canTunnel == (scheme == "http"))
    }

    @Test(arguments: [
        "", "proxy.example:3128", "http://", "http://proxy.example", "http://:3128", "http://proxy.example:",
        "ftp://p:1",
        "http://proxy.example:0", "http://proxy.example:65536", "http://proxy.example:3128/path", "http://[::1]",
        "http://a@b@proxy.example:1", "http://me:p%4@proxy.example:1", "http://me:p%0a@proxy.example:1",
        "http://me:p w@proxy.example:1", "http://@proxy.example:1", "http://pro xy:1", "http://proxy.example:31x",
    ])
    func invalidProxyURLIsRefused(_ url: String) {
        #expect(Proxy(url) == nil)
    }
}
