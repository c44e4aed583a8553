import Notifications
import Testing
import TimeTestSupport
import Units

@testable import WebIngress

@Suite struct MessageTermsTests {
    private static let now: Timestamp = 1_773_446_400_000

    private func terms(ttl: [String] = [], urgency: [String] = []) -> MessageTerms {
        MessageTerms(PushRequest(ttl: ttl, urgency: urgency), now: Self.now)
    }

    @Test(
        arguments: [
            ([], 0), (["172800"], now + .days(2)), ([" 60 "], now + .minutes(1)), (["0"], now + .minutes(1)),
            (["99999999999999999999999"], now + .days(30)), (["2592001"], now + .days(30)),
            (["-1"], 0), (["soon"], 0), ([""], 0), (["1.5"], 0), (["10", "90"], now + .seconds(90)),
        ] as [([String], Timestamp)]
    )
    func aMessageLivesAsLongAsItsSenderSays(ttl: [String], expiresAt: Timestamp) {
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
