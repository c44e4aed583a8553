import Cipher
import Testing

@testable import WebPushTransport

struct VAPIDOriginsTests {
    private static let hour: Int64 = 3_600_000
    private static let start: Int64 = 1_770_000_000_000
    private var origins = VAPIDOrigins(VAPIDToken(key: P256PrivateKey(), subject: "mailto:ops@example.com"))

    private mutating func token(_ origin: String = "https://a.example", after elapsed: Int64 = 0) throws -> String {
        try origins.authorization(for: origin, now: Self.start + elapsed)
    }

    @Test mutating func isUsedForElevenHoursOfItsTwelve() throws {
        let first = try token()
        #expect(try ReadAuthorization(first).expiry == (Self.start + 12 * Self.hour) / 1000)
        #expect(try token(after: 11 * Self.hour - 1) == first)
        let second = try token(after: 11 * Self.hour)
        #expect(second != first)
        #expect(try token(after: 22 * Self.hour - 1) == second)
    }

    @Test mutating func eachOriginHasItsOwn() throws {
        let first = try token("https://a.example")
        let second = try token("https://b.example:8443")
        #expect(try ReadAuthorization(first).audience == "https://a.example")
        #expect(try ReadAuthorization(second).audience == "https://b.example:8443")
        #expect(try token("https://a.example") == first)
    }

    /// 24 hours is what push services allow at most.
    @Test mutating func aClockThatIsSetBackLeavesNoTokenThatIsGoodForTooLong() throws {
        let first = try token()
        #expect(try token(after: -11 * Self.hour) == first)
        let second = try token(after: -11 * Self.hour - 1)
        #expect(second != first)
        #expect(try ReadAuthorization(second).expiry < (Self.start + 12 * Self.hour) / 1000)
    }

    @Test mutating func isProvenByAMessageThatWasTakenAndStaysSo() throws {
        _ = try token()
        #expect(!origins.isProven("https://a.example"))
        origins.prove("https://a.example")
        origins.prove("https://never.example")
        _ = try token(after: 12 * Self.hour)
        #expect(origins.isProven("https://a.example"))
        #expect(!origins.isProven("https://never.example"))
    }

    @Test mutating func onlySoManyAreKeptAndTheOldestGoesFirst() throws {
        let oldest = try token("https://oldest.example")
        for number in 1..<VAPIDOrigins.capacity {
            _ = try token("https://\(number).example", after: Int64(number))
        }
        #expect(try token("https://oldest.example", after: 1000) == oldest)
        let second = try token("https://1.example", after: 1000)
        _ = try token("https://one-more.example", after: 1000)
        #expect(try token("https://1.example", after: 1000) == second)
        #expect(try token("https://oldest.example", after: 1000) != oldest)
    }
}
