import CarillonABI
import Core
import PluginTestSupport
import Testing
import TimeTestSupport

@testable import FCMTransport

/// From a delivery to a token to the message, over a host that responds on request.
struct TokenFlowTests {
    private let fixture: TransportFixture

    init() throws {
        fixture = try TransportFixture()
    }

    private var host: FakeHost { fixture.host }
    private var urls: [String] { host.requests.map(\.url) }

    private func outcome(
        _ kind: carillon_outcome_kind,
        _ reason: String,
        status: UInt32 = 0,
        ticket: UInt64 = 1,
        scope: carillon_scope = .CARILLON_SCOPE_DEFAULT
    ) -> RecordedOutcome {
        RecordedOutcome(ticket: ticket, kind: kind, status: status, reason: reason, scope: scope)
    }

    @Test func oneTokenRequestServesAllWaitingDeliveries() throws {
        for ticket in 1...3 {
            #expect(try fixture.deliver(ticket: UInt64(ticket)) == .CARILLON_OK)
        }
        #expect(urls == [TransportFixture.tokenURL])
        let request = try #require(host.requests.first)
        #expect(request.method == "POST")
        #expect(request.headers["content-type"] == "application/x-www-form-urlencoded")
        #expect(request.flags == 0)
        fixture.grant()
        #expect(urls.dropFirst() == [TransportFixture.sendURL, TransportFixture.sendURL, TransportFixture.sendURL])
        #expect(host.requests.dropFirst().allSatisfy { $0.headers["authorization"] == "Bearer ya29.token" })
        try fixture.deliver(ticket: 4)
        #expect(urls.count == 5)
        for index in 1...4 {
            host.answer(index, status: 200, body: #"{"name":"projects/my-project-1234/messages/0:1"}"#)
        }
        #expect(host.outcomes == (1...4).map { outcome(.CARILLON_DELIVERED, "delivered", status: 200, ticket: $0) })
    }

    @Test func renewsInTheBackground() throws {
        try fixture.deliver(ticket: 1)
        fixture.grant("old")
        fixture.clock.advance(by: .seconds(3599 - 300))
        try fixture.deliver(ticket: 2)
        #expect(
            urls == [
                TransportFixture.tokenURL, TransportFixture.sendURL, TransportFixture.tokenURL,
                TransportFixture.sendURL,
            ]
        )
        #expect(host.requests.last?.headers["authorization"] == "Bearer old")
        fixture.grant("new", at: 2)
        try fixture.deliver(ticket: 3)
        #expect(host.requests.last?.headers["authorization"] == "Bearer new")
        #expect(urls.count == 5)
    }

    @Test func aRefusedTokenIsReplacedAndTheMessageSentOnceMore() throws {
        try fixture.deliver()
        fixture.grant("old")
        host.answer(1, status: 401, body: #"{"error":{"code":401,"status":"UNAUTHENTICATED"}}"#)
        #expect(host.outcomes.isEmpty)
        #expect(urls.last == TransportFixture.tokenURL)
        fixture.grant("new", at: 2)
        #expect(host.requests.last?.headers["authorization"] == "Bearer new")
        #expect(host.requests[1].body == host.requests[3].body)
        host.answer(3, status: 200)
        #expect(host.outcomes == [outcome(.CARILLON_DELIVERED, "delivered", status: 200)])
    }

    @Test func secondRefusalIsMisconfigured() throws {
        try fixture.deliver()
        fixture.grant("old")
        host.answer(1, status: 401)
        fixture.grant("new", at: 2)
        host.answer(3, status: 401)
        #expect(host.outcomes == [outcome(.CARILLON_MISCONFIGURED, "unauthenticated", status: 401)])
        #expect(host.log.count == 1)
    }

    @Test func manyRefusalsOfOneTokenMakeOneRequest() throws {
        for ticket in 1...3 { try fixture.deliver(ticket: UInt64(ticket)) }
        fixture.grant()
        for index in 1...3 { host.answer(index, status: 401) }
        #expect(urls.filter { $0 == TransportFixture.tokenURL }.count == 2)
        fixture.grant("new", at: 4)
        #expect(host.requests.suffix(3).map { $0.headers["authorization"] } == Array(repeating: "Bearer new", count: 3))
    }

    @Test func theMessageIsTheSameOnEveryAttempt() throws {
        var sample = SampleNotification.alert(title: "t", body: "b")
        sample.expiresAt = UInt64(ManualClock.start.milliseconds) + 90_000
        for _ in 0..<2 { try fixture.deliver(sample) }
        fixture.grant()
        #expect(host.requests[1].body == host.requests[2].body)
    }

    @Test(
        arguments: [
            (400, #"{"error":"invalid_grant","error_description":"Invalid JWT Signature."}"#, "invalid-grant"),
            (401, #"{"error":"invalid_client"}"#, "invalid-client"),
            (400, #"{"error":"invalid_scope"}"#, "invalid-scope"),
            (403, #"{"error":"secret words of theirs"}"#, "token-refused"), (404, "<html>", "token-refused"),
        ] as [(UInt32, String, String)]
    )
    func badServiceAccountIsMisconfigured(_ status: UInt32, _ body: String, _ reason: String) throws {
        try fixture.deliver(ticket: 1)
        try fixture.deliver(ticket: 2)
        host.answer(0, status: status, body: body)
        #expect(host.outcomes == [1, 2].map { outcome(.CARILLON_MISCONFIGURED, reason, status: status, ticket: $0) })
        #expect(host.log.count == 1)
        #expect(!host.log.joined().contains("secret words"))
        try fixture.deliver(ticket: 3)
        #expect(urls.count == 1)
        #expect(host.outcomes.last == outcome(.CARILLON_MISCONFIGURED, reason, status: status, ticket: 3))
        fixture.clock.advance(by: .seconds(1))
        try fixture.deliver(ticket: 4)
        #expect(urls.count == 2)
    }

    @Test(
        arguments: [
            (0, "", "timeout"), (500, "", "token-server-error"), (503, "<html>", "token-server-error"),
            (429, "", "token-too-many-requests"), (200, "<html>", "token-unreadable"), (200, "{}", "token-unreadable"),
            (200, #"{"access_token":"a\nb","expires_in":3599}"#, "token-unreadable"),
            (200, #"{"access_token":"a","expires_in":0}"#, "token-unreadable"),
            (200, #"{"access_token":"a","expires_in":"soon"}"#, "token-unreadable"),
            (200, #"{"access_token":"a","expires_in":10,"token_type":"mac"}"#, "token-unreadable"),
        ] as [(UInt32, String, String)]
    )
    func failureOfTheTokenEndpointIsRetried(_ status: UInt32, _ body: String, _ reason: String) throws {
        try fixture.deliver()
        host.answer(0, status: status, body: body, failure: status == 0 ? "timeout" : "")
        // Without a token, the project cannot send any push.
        #expect(host.outcomes == [outcome(.CARILLON_RETRY, reason, status: status, scope: .CARILLON_SCOPE_TRANSPORT)])
    }

    @Test func retryAfterOfTheEndpointIsHonoured() throws {
        try fixture.deliver(ticket: 1)
        host.answer(0, status: 503, headers: ["retry-after": "30"])
        #expect(host.outcomes.last?.retryAfter == 30_000)
        fixture.clock.advance(by: .seconds(10))
        try fixture.deliver(ticket: 2)
        #expect(host.outcomes.last?.retryAfter == 20_000)
        #expect(host.outcomes.map(\.scope) == [.CARILLON_SCOPE_TRANSPORT, .CARILLON_SCOPE_TRANSPORT])
        #expect(urls.count == 1)
    }

    @Test func requestRefusedByTheHostIsRetriedLater() throws {
        host.setAdmission(.CARILLON_BUSY)
        #expect(try fixture.deliver() == .CARILLON_OK)
        #expect(host.outcomes == [outcome(.CARILLON_RETRY, "busy")])
        host.setAdmission(.CARILLON_OK)
        fixture.clock.advance(by: .seconds(1))
        try fixture.deliver(ticket: 2)
        host.setAdmission(.CARILLON_BUSY)
        fixture.grant()
        #expect(host.outcomes.last == outcome(.CARILLON_RETRY, "busy", ticket: 2))
        #expect(try fixture.deliver(ticket: 3) == .CARILLON_BUSY)
    }

    @Test func cancelledDeliveryStopsWaiting() throws {
        try fixture.deliver(ticket: 1)
        try fixture.deliver(ticket: 2)
        fixture.transport.cancel(2)
        fixture.transport.cancel(7)
        #expect(host.outcomes == [outcome(.CARILLON_RETRY, "cancelled", ticket: 2)])
        fixture.grant()
        #expect(urls.count == 2)
    }
}
