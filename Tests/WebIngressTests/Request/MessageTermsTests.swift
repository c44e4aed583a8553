import Notifications
import Testing

@testable import WebIngress

@Suite struct MessageTermsTests {
    private static let now: Int64 = 1_773_446_400_000

    private func terms(ttl: [String] = [], urgency: [String] = []) -> MessageTerms {
        MessageTerms(PushRequest(ttl: ttl, urgency: urgency), now: Self.now)
    }

    @Test(
        arguments: [
            ([], 0), (["172800"], now + 172_800_000), ([" 60 "], now + 60_000), (["0"], now + 60_000),
            (["99999999999999999999999"], now + 30 * 86_400_000), (["2592001"], now + 30 * 86_400_000),
            (["-1"], 0), (["soon"], 0), ([""], 0), (["1.5"], 0), (["10", "90"], now + 90_000),
        ] as [([String], Int64)]
    )
    func aMessageLivesAsLongAsItsSenderSays(ttl: [String], expiresAt: Int64) {
        #expect(terms(ttl: ttl).expiresAt == expiresAt)
    }

    @Test(
        arguments: [
            ([], .normal), (["normal"], .normal), (["high"], .high), (["High "], .high), (["low"], .low),
            (["very-low"], .low),
            (["urgent"], .normal),
        ] as [([String], Urgency)]
    )
    func urgencyIsOfTheFourWords(lines: [String], urgency: Urgency) {
        #expect(terms(urgency: lines).urgency == urgency)
    }
}
