import Core
import Testing
import TimeTestSupport

@testable import PluginHost

/// The status that a plugin reports, including invalid ones.
@Suite struct TransportStatusTests {
    @Test func expiriesAndClientFieldsAreRead() {
        let status = TransportStatus(
            answer:
                #"{"expires":[{"what":"client-certificate","at":1789000000}],"clients":{"vapid_public_keys":["B1","B2"]}}"#
        )
        #expect(
            status.expiries == [
                TransportStatus.Expiry(what: "client-certificate", at: Timestamp(seconds: 1_789_000_000))
            ]
        )
        #expect(status.clients == ["vapid_public_keys": ["B1", "B2"]])
    }

    @Test(arguments: ["", "{}", "[]", "no", #"{"expires":{},"clients":[]}"#, #"{"clients":{"a":"b"}}"#])
    func invalidStatusResponseIsEmpty(answer: String) {
        let status = TransportStatus(answer: answer)
        #expect(status.expiries.isEmpty && status.clients.isEmpty)
    }

    /// It is shown in public: it must neither break a line nor fill a document.
    @Test func excessEntriesAreOmitted() {
        let long = String(repeating: "x", count: 257)
        let many = (0..<21).map { "\"\($0)\"" }.joined(separator: ",")
        let further = (0..<20).map { #""n\#($0 + 10)":["v"]"# }.joined(separator: ",")
        let status = TransportStatus(
            answer: #"{"clients":{"Name":["v"],"a":["\#(long)"],"b":["\n"],"c":["ä"],"d":[\#(many)],\#(further)}}"#
        )
        #expect(status.clients.count == 16 && status.clients.values.allSatisfy { $0 == ["v"] })
        #expect(status.clients["n10"] != nil && status.clients["n29"] == nil)
        let broken = TransportStatus(answer: #"{"expires":[{"what":"Two words","at":1}],"clients":{"k":["v"]}}"#)
        #expect(broken.expiries.isEmpty && broken.clients == ["k": ["v"]])
    }
}
