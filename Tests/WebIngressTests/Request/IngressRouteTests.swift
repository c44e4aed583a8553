import Testing

@testable import WebIngress

@Suite struct IngressRouteTests {
    private static let token = String(repeating: "0123456789abcdef", count: 4)

    private func read(_ target: String) -> PushResource? {
        guard case .push(let resource) = IngressRoute(method: "POST", target: target) else { return nil }
        return resource
    }

    @Test func aPushNamesDeviceAccountAndEnvironment() throws {
        let resource = try #require(read("/push/\(Self.token)/5E0C6D18-7E0B-4C2F"))
        #expect(resource.deviceToken == Self.token)
        #expect(resource.id == "5E0C6D18-7E0B-4C2F")
        #expect(!resource.isSandbox)
    }

    @Test(arguments: [
        ("?sandbox=true", true), ("?a=b&sandbox=true", true), ("?sandbox=true&a", true), ("?sandbox=false", false),
        ("?sandbox", false), ("?notsandbox=true", false), ("?sandbox=true1", false), ("?", false),
        ("??sandbox=true", false),
    ])
    func theSandboxIsAskedFor(query: String, isSandbox: Bool) {
        #expect(read("/push/\(Self.token)/1\(query)")?.isSandbox == isSandbox)
    }

    @Test func tokensAreTheSameInEitherCase() {
        #expect(read("/push/\(Self.token.uppercased())/1") == read("/push/\(Self.token)/1"))
    }

    @Test(arguments: [
        ("a%20b", "a b"), ("%C3%A4", "ä"), ("a%2Fb", "a/b"), ("a+b", "a+b"), ("%41", "A"),
        ("user@example.com", "user@example.com"),
    ])
    func theAccountIsDecoded(encoded: String, id: String) {
        #expect(read("/push/\(Self.token)/\(encoded)")?.id == id)
    }

    @Test(arguments: [
        "/push", "/push/", "/push/\(token)", "/push/\(token)/", "/push/\(token)/1/", "/push/\(token)/1/2",
        "//push/\(token)/1",
        "/Push/\(token)/1", "/pushed/\(token)/1", "push/\(token)/1", "", "*", "/index.html", "/push//1",
        // No token at all.
        "/push/xyz/1", "/push/\(token)g/1", "/push/\(token)0/1", "/push/<device>/1", "/push/\(token)%30%30/1",
        "/push/\(String(repeating: "ab", count: 257))/1",
        // No account at all.
        "/push/\(token)/%", "/push/\(token)/%4", "/push/\(token)/%zz", "/push/\(token)/%FF", "/push/\(token)/a%00b",
        "/push/\(token)/%0A", "/push/\(token)/%7f",
        "/push/\(token)/\(String(repeating: "a", count: 1025))",
    ])
    func whatCanNeverWorkIsUnknown(target: String) {
        #expect(IngressRoute(method: "POST", target: target) == .unknown)
    }

    @Test func methodsAreToldApart() {
        #expect(IngressRoute(method: "GET", target: "/") == .status)
        #expect(IngressRoute(method: "HEAD", target: "/?probe") == .status)
        #expect(IngressRoute(method: "POST", target: "/") == .wrongMethod(allow: "GET, HEAD"))
        #expect(IngressRoute(method: "GET", target: "/push/\(Self.token)/1") == .wrongMethod(allow: "POST"))
        #expect(IngressRoute(method: "GET", target: "/favicon.ico") == .unknown)
    }

    @Test func whatIsSecretShowsNothing() throws {
        let resource = try #require(read("/push/\(Self.token)/account-of-alice"))
        #expect(!"\(resource) \(String(reflecting: resource))".contains("alice"))
        var dumped = ""
        dump(resource, to: &dumped)
        #expect(!dumped.contains(Self.token))
    }
}
