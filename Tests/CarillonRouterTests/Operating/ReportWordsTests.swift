import HTTPClient
import Testing

@testable import Operations

struct ReportWordsTests {
    @Test func aReasonOfTheRouterIsExplained() {
        let text = ReportWords.long(kind: "retry", status: 0, reason: "tls-expired")
        #expect(text == "retry (tls-expired: the server's certificate has expired or is not valid yet)")
        #expect(
            ReportWords.long(kind: "rejected", status: 0, reason: "forbidden-address").contains("private or reserved")
        )
    }

    @Test func aReasonOfThePushServiceStaysAsItIs() {
        #expect(ReportWords.long(kind: "gone", status: 410, reason: "Unregistered") == "gone (410 Unregistered)")
        #expect(ReportWords.long(kind: "retry", status: 504, reason: "timeout") == "retry (504 timeout)")
    }

    @Test func tablesShowOnlyTheCode() {
        #expect(ReportWords.short(kind: "retry", status: 0, reason: "tls-expired") == "retry (tls-expired)")
    }
}
