import Console
import Core
import Foundation
import Logging
import Testing
import TimeTestSupport

@testable import Operations
@testable import RouterConfiguration

/// The API's named tokens: their stored form and their permissions.
@Suite struct TokenTests {
    private final class Folder: Sendable {
        let url = FileManager.default.temporaryDirectory.appending(path: "tokens-\(UUID().uuidString)")

        init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }

        deinit { try? FileManager.default.removeItem(at: url) }

        var file: TokenFile { TokenFile(path: url.appending(path: "tokens").path) }
    }

    private let folder: Folder
    private let clock = ManualClock(Timestamp(seconds: 1_000_000))

    init() throws { folder = try Folder() }

    private var operations: TokenOperations { TokenOperations(file: folder.file, now: clock.now) }

    private func current() -> CurrentTokens {
        CurrentTokens(
            folder.file,
            now: clock.now,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    @Test func aTokenIsShownOnceAndKeptAsAHash() throws {
        let created = try operations.create("grafana", [.read], for: nil)
        #expect(created.token.hasPrefix("crl_") && created.token.utf8.count == 47)
        let text = try String(contentsOfFile: folder.file.path, encoding: .utf8)
        #expect(!text.contains(created.token.dropFirst(4)) && text.contains("grafana"))
        let mode = try FileManager.default.attributesOfItem(atPath: folder.file.path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try operations.list().tokens.map(\.name) == ["grafana"])
        #expect(try !operations.list().json.contains("digest"))
        #expect(try operations.create("other", [.read], for: nil).token != created.token)
    }

    /// The reader of a token's name must know its owner.
    @Test(arguments: ["the token file", "signed on as alice", "", "a\nb"])
    func tokenNameMustBeUnique(_ name: String) throws {
        #expect(throws: OperationError.self) { try operations.create(name, [.read], for: nil) }
        #expect(try operations.list().tokens.isEmpty)
    }

    @Test func tokenGrantsItsScopes() throws {
        let token = try operations.create("deploy", [.operate, .read], for: nil).token
        let tokens = current()
        #expect(tokens.principal(of: token) == .agent("deploy", [.read, .operate]))
        for other in ["", "crl_", token + "x", String(token.dropLast()), token.lowercased()] {
            #expect(tokens.principal(of: other) == nil)
        }
    }

    @Test func runningRouterReadsChangedTokens() throws {
        let tokens = current()
        #expect(tokens.principal(of: "crl_none") == nil)
        let token = try operations.create("one", [.read], for: nil).token
        #expect(tokens.principal(of: token) != nil)
        _ = try operations.revoke("one")
        #expect(tokens.principal(of: token) == nil)
        #expect(throws: OperationError.self) { try operations.revoke("one") }
    }

    @Test func tokenExpires() throws {
        let token = try operations.create("short", [.read], for: .hours(1)).token
        let tokens = current()
        #expect(tokens.principal(of: token) != nil)
        clock.advance(by: .hours(1))
        #expect(tokens.principal(of: token) == nil)
        #expect(try operations.list().tokens.map(\.isExpired) == [true])
    }

    /// If the file is unreadable, all tokens are invalid, because some may have been revoked.
    @Test func unreadableTokenFileGrantsNoAccess() throws {
        let token = try operations.create("one", [.read], for: nil).token
        try "no JSON".write(toFile: folder.file.path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder.file.path)
        #expect(current().principal(of: token) == nil)
        #expect(throws: OperationError.self) { try operations.list() }
        #expect(throws: OperationError.self) { try operations.create("two", [.read], for: nil) }
    }

    @Test func exposedTokenFileGrantsNoAccess() throws {
        let token = try operations.create("one", [.read], for: nil).token
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: folder.file.path)
        #expect(current().principal(of: token) == nil)
    }

    @Test func lastUseIsStoredToTheMinute() throws {
        var tokens = NamedTokens()
        let now = Timestamp(seconds: 1_000)
        _ = try tokens.create("one", [.read], for: nil, now: now, random: { [UInt8](repeating: 7, count: $0) })
        let steps: [(Int64, Bool, Int64)] = [(1_000, true, 1_000), (1_059, false, 1_000), (1_060, true, 1_060)]
        for (moment, isWorthKeeping, kept) in steps {
            #expect(tokens.use(["one": moment, "gone": moment]) == isWorthKeeping)
            #expect(tokens.tokens.first?.lastUsedAt == kept)
        }
    }

    @Test(arguments: ["", "a/b", "a\nb", String(repeating: "a", count: 65)])
    func invalidNamesAreRefused(_ name: String) {
        #expect(throws: OperationError.self) { try operations.create(name, [.read], for: nil) }
    }

    @Test func namesAreUniqueAndScopesAreRequired() throws {
        _ = try operations.create("Büro 7", [.send], for: nil)
        #expect(throws: OperationError.self) { try operations.create("Büro 7", [.read], for: nil) }
        #expect(throws: OperationError.self) { try operations.create("none", [], for: nil) }
    }
}

/// Single sign-on by a proxy.
@Suite struct ProxySignOnTests {
    private func principal(
        _ fields: [String: [String]],
        _ method: String = "GET",
        peer: String = "10.0.0.1",
        url: String? = "https://push.example.com/x",
        everybody: Set<APIScope>? = nil
    ) throws(APIError) -> APIPrincipal? {
        var scopes: [String: Set<APIScope>] = ["alice": [.read, .operate]]
        scopes["*"] = everybody
        let settings = Configuration.SignOn(header: "x-user", scopes: scopes)
        let head = APIRequestHead(
            method: method,
            target: "/v1/status",
            authorization: [],
            fields: { fields[$0] ?? [] },
            peer: peer
        )
        return try ProxySignOn(settings, isTrustedProxy: { $0 == "10.0.0.1" }, url: url).principal(of: head)
    }

    @Test func proxyNamesTheUser() throws {
        #expect(try principal(["x-user": ["alice"]]) == .agent("signed on as alice", [.read, .operate]))
        #expect(try principal(["x-user": ["bob"]]) == nil)
        #expect(try principal(["x-user": ["bob"]], everybody: [.read]) == .agent("signed on as bob", [.read]))
    }

    @Test func otherClientsHaveNoIdentity() throws {
        #expect(try principal(["x-user": ["alice"]], peer: "10.0.0.2") == nil)
        #expect(try principal(["x-user": ["alice", "bob"]]) == nil)
        #expect(try principal(["x-user": [""]], everybody: [.read]) == nil)
        #expect(try principal([:], everybody: [.read]) == nil)
    }

    @Test(arguments: [
        ["sec-fetch-site": "cross-site"], ["sec-fetch-site": "same-site"], ["origin": "https://evil.example"],
        ["origin": "null"], ["origin": "http://push.example.com"], ["origin": "https://push.example.com.evil.example"],
        ["sec-fetch-site": "cross-site", "origin": "https://push.example.com"],
    ])
    func requestsFromOtherSitesAreRefused(_ fields: [String: String]) throws {
        var all = fields.mapValues { [$0] }
        all["x-user"] = ["alice"]
        #expect(throws: APIError.self) { try principal(all, "POST") }
        #expect(throws: APIError.self) { try principal(all, "DELETE") }
        // The browser keeps the response from a page of another site.
        #expect(try principal(all, "GET") != nil)
    }

    @Test(arguments: [
        ["sec-fetch-site": "same-origin"], ["sec-fetch-site": "none"], ["origin": "https://push.example.com"], [:],
    ])
    func requestsFromOwnPagesAreAccepted(_ fields: [String: String]) throws {
        var all = fields.mapValues { [$0] }
        all["x-user"] = ["alice"]
        #expect(try principal(all, "POST") != nil)
    }

    @Test func hostHeaderDecidesWithoutAPublicURL() throws {
        let host = ["x-user": ["alice"], "host": ["push.local:7448"]]
        let own = host.merging(["origin": ["http://push.local:7448"]]) { $1 }
        #expect(try principal(own, "POST", url: nil) != nil)
        let other = host.merging(["origin": ["http://push.local"]]) { $1 }
        #expect(throws: APIError.self) { try principal(other, "POST", url: nil) }
    }
}
