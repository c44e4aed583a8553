import Cipher
import Core
import PluginTestSupport
import Testing
import TimeTestSupport

@testable import WebPushMessage

struct VAPIDOriginsTests {
    private static let hour: Int64 = 3_600_000
    private static let start: Timestamp = 1_770_000_000_000
    private static let a = "https://a.example"
    private var origins = VAPIDOrigins(
        (0..<2).map { _ in VAPIDToken(key: P256PrivateKey(), subject: "mailto:ops@example.com") }
    )

    private mutating func token(_ origin: String = a, key: Int = 0, after elapsed: Int64 = 0) throws -> String {
        try origins.authorization(for: origin, token: key, now: Self.start + .milliseconds(elapsed))
    }

    @Test mutating func tokenIsUsedForElevenOfTwelveHours() throws {
        let first = try token()
        #expect(try ReadAuthorization(first).expiry == (Self.start + .hours(12)).seconds)
        #expect(try token(after: 11 * Self.hour - 1) == first)
        let second = try token(after: 11 * Self.hour)
        #expect(second != first)
        #expect(try token(after: 22 * Self.hour - 1) == second)
    }

    @Test mutating func everyOriginHasItsOwnToken() throws {
        let first = try token("https://a.example")
        let second = try token("https://b.example:8443")
        #expect(try ReadAuthorization(first).audience == "https://a.example")
        #expect(try ReadAuthorization(second).audience == "https://b.example:8443")
        #expect(try token(Self.a) == first)
    }

    /// Push services allow at most 24 hours.
    @Test mutating func clockThatIsSetBackRenewsTokensValidForTooLong() throws {
        let first = try token()
        #expect(try token(after: -11 * Self.hour) == first)
        let second = try token(after: -11 * Self.hour - 1)
        #expect(second != first)
        #expect(try ReadAuthorization(second).expiry < (Self.start + .hours(12)).seconds)
    }

    @Test mutating func everyKeyHasItsOwnToken() throws {
        let first = try ReadAuthorization(token())
        let second = try ReadAuthorization(token(key: 1))
        #expect(first.publicKey != second.publicKey)
        #expect(first.isSigned && second.isSigned)
        #expect(try token(key: 1) == token(key: 1))
    }

    @Test mutating func tokenIsProvenByAnAcceptedMessage() throws {
        _ = try token()
        _ = try token(key: 1)
        #expect(!origins.isProven(Self.a))
        #expect(!origins.isProven(token: 0))
        origins.prove(Self.a)
        origins.prove("https://never.example")
        _ = try token(after: 12 * Self.hour)
        #expect(origins.isProven(Self.a))
        #expect(origins.isProven(token: 0))
        #expect(!origins.isProven("https://never.example"))
        #expect(!origins.isProven(Self.a, token: 1))
        #expect(!origins.isProven(token: 1))
    }

    /// Apple rejects senders that change their token more than once per hour.
    @Test mutating func aRefusedTokenIsReplacedAfterAnHour() throws {
        let first = try token()
        let renew = { (origins: inout VAPIDOrigins, refused: String, elapsed: Int64) in
            try origins.renew(Self.a, token: 0, refused: refused, now: Self.start + .milliseconds(elapsed))
        }
        #expect(try !renew(&origins, first, Self.hour - 1))
        #expect(try token(after: Self.hour - 1) == first)
        #expect(try renew(&origins, first, Self.hour))
        let second = try token(after: Self.hour)
        #expect(second != first)
        // A sender that used the first token must resend with the second; no new token is signed for that.
        #expect(try renew(&origins, first, Self.hour))
        #expect(try token(after: Self.hour) == second)
        #expect(try !renew(&origins, second, Self.hour))
        #expect(try !origins.renew("https://b.example", token: 0, refused: first, now: Self.start))
    }

    @Test mutating func tokensAreLimitedAndTheIdlestIsEvicted() throws {
        let idlest = try token("https://idlest.example")
        let used = try token("https://used.example", after: 1)
        for number in 2..<VAPIDOrigins.capacity {
            _ = try token("https://\(number).example", after: Int64(number))
        }
        #expect(try token("https://used.example", after: 1000) == used)
        _ = try token("https://one-more.example", after: 1001)
        #expect(try token("https://used.example", after: 1002) == used)
        #expect(try token("https://idlest.example", after: 1003) != idlest)
    }

    /// Otherwise users could make up origins until Apple's token is evicted, and a new one would come too soon.
    @Test mutating func madeUpOriginsDoNotEvictBusyOnes() throws {
        let apple = try token("https://web.push.apple.com")
        for number in 0..<(2 * VAPIDOrigins.capacity) {
            _ = try token("https://\(number).example", after: Int64(number))
        }
        #expect(try token("https://web.push.apple.com", after: Self.hour) == apple)
    }
}
