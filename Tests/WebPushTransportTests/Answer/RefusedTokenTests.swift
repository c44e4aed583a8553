import CarillonABI
import Core
import PluginTestSupport
import Testing
import TimeTestSupport

/// A push service that rejects our token.
struct RefusedTokenTests {
    private static let refusal = AnswerRow.apple(403, "BadJwtToken", .CARILLON_REJECTED, "bad-jwt-token")
    private static let wait = AnswerRow.apple(
        403,
        "BadJwtToken",
        .CARILLON_RETRY,
        "bad-jwt-token",
        .CARILLON_SCOPE_DEVICE
    )
    private let bench: AnswerBench

    init() throws {
        bench = try AnswerBench()
    }

    /// None of our tokens works there: the messages wait for the operator, and others continue.
    @Test func hostIsPausedIfNoMessageWasEverAccepted() throws {
        let early = try bench.outcome(Self.refusal, from: AnswerBench.apple)
        #expect(early.kind == .CARILLON_RETRY)
        #expect(early.scope == .CARILLON_SCOPE_HOST)
    }

    /// A wrong clock must cost neither the messages nor the devices, and a user's own endpoint must not delay others.
    @Test func onlyOneMessageWaitsIfOthersWereAccepted() throws {
        try bench.prove(AnswerBench.apple)
        #expect(try bench.outcome(Self.refusal, from: AnswerBench.apple) == Self.wait.outcome(ticket: 9))
        // On another port of Apple's host, which no browser uses, an attacker can cause rejections.
        let odd = "https://web.push.apple.com:8443/x"
        #expect(try bench.outcome(Self.refusal, from: odd) == Self.refusal.outcome(ticket: 9))
    }

    /// A token of more than an hour is replaced, which Apple allows, and the message sent once more.
    @Test func anOldTokenIsReplacedAndTheMessageSentOnceMore() throws {
        let host = bench.fixture.host
        try bench.prove(AnswerBench.apple)
        bench.fixture.clock.advance(by: .minutes(60))
        let registration = bench.fixture.subscription(AnswerBench.apple)
        #expect(try bench.fixture.deliver(.wake("dm"), to: registration, ticket: 2) == .CARILLON_OK)
        host.answer(1, status: 403, body: Self.refusal.body)
        #expect(host.outcomes.count == 1)
        #expect(host.requests.count == 3)
        #expect(host.requests[2].headers["authorization"] != host.requests[1].headers["authorization"])
        #expect(host.requests[2].body == host.requests[1].body)
        host.answer(2, status: 201)
        #expect(
            host.outcomes.last
                == RecordedOutcome(ticket: 2, kind: .CARILLON_DELIVERED, status: 201, reason: "delivered")
        )
    }

    @Test func secondRefusalIsFinal() throws {
        try bench.prove(AnswerBench.apple)
        bench.fixture.clock.advance(by: .minutes(60))
        #expect(try bench.outcome(Self.refusal, from: AnswerBench.apple) == Self.wait.outcome(ticket: 9))
        #expect(bench.fixture.host.requests.count == 3)
        // The new token is recent, so it is not replaced again.
        _ = try bench.outcome(Self.refusal, from: AnswerBench.apple)
        #expect(bench.fixture.host.requests.count == 4)
    }

    @Test func refusedTokenIsLoggedOnceAnHour() throws {
        let warnings = { bench.lines("VAPID token") }
        _ = try bench.outcome(AnswerRow(404, .CARILLON_GONE, ""))
        #expect(warnings() == 0)
        _ = try bench.outcome(Self.refusal, from: AnswerBench.apple)
        _ = try bench.outcome(.apple(403, "BadAuthorizationHeader", .CARILLON_RETRY, ""), from: AnswerBench.apple)
        #expect(warnings() == 1)
        #expect(bench.lines("Apple refused our VAPID token (bad-jwt-token)") == 1)
        // Users' own services cannot suppress reports about Apple's, nor the other way round.
        for _ in 0..<2 { _ = try bench.outcome(.mozilla(401, 109, .CARILLON_REJECTED, ""), from: AnswerBench.own) }
        #expect(warnings() == 2)
        bench.fixture.clock.advance(by: .minutes(60))
        _ = try bench.outcome(Self.refusal, from: AnswerBench.apple)
        #expect(warnings() == 3)
    }
}
