import CarillonABI
import Core
import PluginKit
import PluginTestSupport
import Testing
import TimeTestSupport

@testable import NtfyTransport

struct RefusedCredentialsTests {
    /// ntfy counts wrong tokens by our address, and then rejects all tokens.
    @Test func wrongTokenIsSentOnlyOccasionally() throws {
        let fixture = try TransportFixture()
        let registration = { (token: String, topic: String) in
            SampleRegistration(token: "https://ntfy.example.com/\(topic)", fields: [("access_token", token)])
        }
        let requestsFor = { (token: String, topic: String, status: UInt32) throws -> Int in
            let before = fixture.host.requests.count
            let admission = try fixture.deliver(.wake("dm"), to: registration(token, topic))
            #expect(admission == .CARILLON_OK)
            if fixture.host.requests.count > before { fixture.host.answer(before, status: status) }
            return fixture.host.requests.count - before
        }
        #expect(try requestsFor("tk_wrong", "a", 401) == 1)
        #expect(try requestsFor("tk_wrong", "a", 401) == 0)
        let refusal = RecordedOutcome(ticket: 1, kind: .CARILLON_REJECTED, reason: "unauthorized")
        #expect(fixture.host.outcomes.last == refusal)
        // Another token, another topic, and a forbidden topic, which does not mean a wrong token.
        #expect(try requestsFor("tk_right", "a", 200) == 1)
        #expect(try requestsFor("tk_wrong", "b", 403) == 1)
        #expect(try requestsFor("tk_wrong", "b", 403) == 1)
        fixture.clock.advance(by: RefusedCredentials.quiet - .milliseconds(1))
        #expect(try requestsFor("tk_wrong", "a", 401) == 0)
        fixture.clock.advance(by: .milliseconds(1))
        #expect(try requestsFor("tk_wrong", "a", 401) == 1)
        fixture.clock.advance(by: .milliseconds(-1))
        #expect(try requestsFor("tk_wrong", "a", 401) == 1)
    }

    @Test func rememberedRefusalsAreLimited() throws {
        let refused = RefusedCredentials()
        let topic = try SampleRegistration(token: TransportFixture.token).withABI { try Topic(Registration($0).token) }
        for index in 0..<RefusedCredentials.capacity { refused.insert("Bearer \(index)", for: topic, now: 0) }
        #expect(refused.contain("Bearer 0", for: topic, now: 1))
        refused.insert("Bearer new", for: topic, now: 1)
        #expect(!refused.contain("Bearer 0", for: topic, now: 1))
        #expect(refused.contain("Bearer new", for: topic, now: 1))
    }
}
