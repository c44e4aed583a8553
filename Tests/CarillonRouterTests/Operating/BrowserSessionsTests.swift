import Console
import Core
import Synchronization
import Testing
import TimeTestSupport

@testable import Operations

/// Browser sessions of the console.
@Suite struct BrowserSessionsTests {
    private final class Tokens: Sendable {
        let open = Mutex<[String: APIPrincipal]>([:])

        init(_ texts: [String: APIPrincipal]) {
            open.withLock { open in for (text, who) in texts { open[APIToken.digest(of: text)] = who } }
        }
    }

    private let clock = ManualClock(Timestamp(seconds: 1_000_000))
    private let tokens = Tokens(["of reader": .agent("reader", [.read]), "of boss": .agent("boss", [.read, .operate])])

    private func sessions(url: String? = nil) -> BrowserSessions {
        BrowserSessions(
            principal: { [tokens] digest in tokens.open.withLock { $0[digest] } },
            url: url,
            random: SequentialBytes().next,
            now: clock.now
        )
    }

    private func head(_ cookie: String?, _ method: String = "GET", _ fields: [String: String] = [:]) -> APIRequestHead {
        var all = fields.mapValues { [$0] }
        if let cookie { all["cookie"] = ["a=b; __Host-carillon=\(cookie); c=d"] }
        return APIRequestHead(
            method: method,
            target: "/v1/status",
            authorization: [],
            fields: { [all] in all[$0] ?? [] },
            peer: "127.0.0.1"
        )
    }

    @Test func tokenStartsASessionWithItsRights() throws {
        let sessions = sessions()
        let begun = try #require(sessions.begin(token: "of reader", browser: "Firefox"))
        #expect(begun.principal == .agent("reader", [.read]))
        #expect(try sessions.principal(of: head(begun.cookie)) == .agent("reader", [.read]))
        #expect(sessions.begin(token: "of nobody", browser: "") == nil)
        for other in [nil, "", begun.cookie + "x", String(begun.cookie.dropLast())] {
            #expect(try sessions.principal(of: head(other)) == nil)
        }
    }

    @Test func aSessionEndsWithItsTokenAndHasItsScopes() throws {
        let sessions = sessions()
        let cookie = try #require(sessions.begin(token: "of reader", browser: "")).cookie
        let digest = APIToken.digest(of: "of reader")
        tokens.open.withLock { $0[digest] = .agent("reader", [.send]) }
        #expect(try sessions.principal(of: head(cookie)) == .agent("reader", [.send]))
        tokens.open.withLock { $0[digest] = nil }
        #expect(sessions.list(of: nil).isEmpty)
        #expect(try sessions.principal(of: head(cookie)) == nil)
        // A new token with the same text does not restore it.
        tokens.open.withLock { $0[digest] = .agent("reader", [.read]) }
        #expect(try sessions.principal(of: head(cookie)) == nil)
    }

    @Test(arguments: [
        [:], ["sec-fetch-site": "cross-site"], ["sec-fetch-site": "same-site"], ["origin": "https://evil.example"],
        ["origin": "null"], ["sec-fetch-site": "cross-site", "origin": "https://push.example.com"],
    ])
    func requestsFromOtherSitesAreRefused(_ fields: [String: String]) throws {
        let sessions = sessions(url: "https://push.example.com/x")
        let cookie = try #require(sessions.begin(token: "of boss", browser: "")).cookie
        for method in ["POST", "PATCH", "DELETE"] {
            #expect(throws: APIError.self) { try sessions.principal(of: head(cookie, method, fields)) }
        }
        #expect(try sessions.principal(of: head(cookie, "GET", fields)) != nil)
        for own in [["sec-fetch-site": "same-origin"], ["origin": "https://push.example.com"]] {
            #expect(try sessions.principal(of: head(cookie, "POST", own)) != nil)
        }
    }

    @Test func unusedSessionsEndAndUsedOnesLater() throws {
        let sessions = sessions()
        let (used, unused) = (
            try #require(sessions.begin(token: "of boss", browser: "")).cookie,
            try #require(sessions.begin(token: "of boss", browser: "")).cookie
        )
        for _ in 0..<2 {
            clock.advance(by: .hours(11))
            #expect(try sessions.principal(of: head(used)) != nil)
        }
        #expect(try sessions.principal(of: head(unused)) == nil)
        for _ in 0..<14 {
            clock.advance(by: .hours(11))
            _ = try sessions.principal(of: head(used))
        }
        #expect(try sessions.principal(of: head(used)) == nil)
        #expect(sessions.list(of: nil).isEmpty)
    }

    @Test func sessionsAreListedAndEnded() throws {
        let sessions = sessions()
        let first = try #require(sessions.begin(token: "of boss", browser: "one")).cookie
        clock.advance(by: .seconds(1))
        let second = try #require(sessions.begin(token: "of reader", browser: "two")).cookie
        #expect(sessions.list(of: nil).map(\.browser) == ["two", "one"])
        #expect(sessions.list(of: "reader").map(\.browser) == ["two"])
        #expect(sessions.session(of: first)?.browser == "one" && sessions.session(of: nil) == nil)
        sessions.end(try #require(sessions.session(of: second)).id)
        #expect(try sessions.principal(of: head(second)) == nil)
        #expect(try sessions.principal(of: head(first)) != nil)
    }

    @Test func sessionsAreLimited() throws {
        let sessions = sessions()
        let first = try #require(sessions.begin(token: "of boss", browser: "")).cookie
        for _ in 0..<SessionTable.capacity {
            clock.advance(by: .seconds(1))
            _ = sessions.begin(token: "of boss", browser: "")
        }
        #expect(sessions.list(of: nil).count == SessionTable.capacity)
        #expect(try sessions.principal(of: head(first)) == nil)
    }
}

/// Bytes that never repeat.
private final class SequentialBytes: Sendable {
    private let number = Mutex<UInt64>(0)

    @Sendable func next(_ count: Int) -> [UInt8] {
        let number = number.withLock { number in
            number += 1
            return number
        }
        return (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * ($0 % 8))) }
    }
}
