import CarillonABI
import Cipher
import Core
import PluginKit
import PluginTestSupport
import Testing
import TimeTestSupport

@testable import WebPushTransport

/// An operator changes the key while browsers know the former one.
struct KeyRotationTests {
    private static let mismatch = AnswerRow.apple(400, "VapidPkHashMismatch", .CARILLON_REJECTED, "vapid-key-mismatch")

    private let former = P256PrivateKey()
    private let bench: AnswerBench

    init() throws {
        bench = AnswerBench(try TransportFixture(former: [former]))
    }

    private var fixture: TransportFixture { bench.fixture }
    private var host: FakeHost { fixture.host }
    private var current: String { TransportFixture.publicKey(fixture.operatorKey) }
    private var old: String { TransportFixture.publicKey(former) }

    private func deliver(ticket: UInt64, vapid: String? = nil, to endpoint: String = AnswerBench.apple) throws {
        let registration = fixture.subscription(endpoint, vapid: vapid)
        #expect(try fixture.deliver(.wake("dm"), to: registration, ticket: ticket) == .CARILLON_OK)
    }

    @Test func theKeyThatTheRegistrationNamesSigns() throws {
        for (ticket, vapid) in [(1, old), (2, current), (3, nil)] as [(UInt64, String?)] {
            try deliver(ticket: ticket, vapid: vapid)
            #expect(try fixture.signer(of: host.requests.last) == (vapid ?? current))
        }
        let header = try #require(host.requests.first?.headers["authorization"])
        let authorization = try ReadAuthorization(header)
        #expect(authorization.isSigned)
        #expect(try authorization.audience == "https://web.push.apple.com")
    }

    @Test func unknownKeyIsRefusedAndTheRightOneIsNamed() throws {
        for vapid in [old, current, Base64URL.encodePadded(former.publicKey.x963Representation)] {
            #expect(fixture.refusal(of: fixture.subscription(vapid: vapid)) == nil)
        }
        let another = TransportFixture.publicKey(P256PrivateKey())
        for vapid in [another, "x", String(repeating: "é", count: 3000)] {
            let refusal = try #require(fixture.refusal(of: fixture.subscription(vapid: vapid)))
            #expect(refusal.hasPrefix("vapid: expected the public key of this router"))
            #expect(refusal.contains(current))
            #expect(!refusal.contains(vapid) || vapid == "x")
        }
    }

    @Test func removedKeyRejectsTheMessageAndIsLoggedOnce() throws {
        let another = TransportFixture.publicKey(P256PrivateKey())
        for ticket in 1...2 as ClosedRange<UInt64> { try deliver(ticket: ticket, vapid: another) }
        #expect(host.requests.isEmpty)
        #expect(
            host.outcomes
                == [1, 2].map {
                    RecordedOutcome(ticket: $0, kind: .CARILLON_REJECTED, reason: "vapid-key-unknown")
                }
        )
        #expect(bench.lines("old_vapid_key_files") == 1)
        #expect(!host.log.joined().contains(another))
    }

    @Test(arguments: [
        (AnswerBench.apple, AnswerRow.apple(400, "VapidPkHashMismatch", .CARILLON_REJECTED, "")),
        (AnswerBench.mozilla, .mozilla(401, 109, message: "VAPID public key mismatch", .CARILLON_REJECTED, "")),
        (
            AnswerBench.google,
            AnswerRow(
                403,
                body: "the VAPID credentials in the authorization header do not correspond to the credentials used",
                .CARILLON_REJECTED,
                ""
            )
        ), (AnswerBench.windows, .windows(403, .CARILLON_REJECTED, "")),
    ])
    func formerKeysAreTriedIfTheRegistrationNamesNone(_ endpoint: String, _ row: AnswerRow) throws {
        try deliver(ticket: 1, to: endpoint)
        host.answer(0, status: row.status, body: row.body)
        #expect(host.outcomes.isEmpty)
        #expect(try host.requests.map { try fixture.signer(of: $0) } == [current, old])
        #expect(host.requests[0].body == host.requests[1].body)
        #expect(host.requests[0].headers["ttl"] == host.requests[1].headers["ttl"])
        host.answer(1, status: 201)
        #expect(
            host.outcomes == [RecordedOutcome(ticket: 1, kind: .CARILLON_DELIVERED, status: 201, reason: "delivered")]
        )
        // From now on that key is tried first for this subscription.
        try deliver(ticket: 2, to: endpoint)
        #expect(try fixture.signer(of: host.requests.last) == old)
        try deliver(ticket: 3, to: endpoint + "2")
        #expect(try fixture.signer(of: host.requests.last) == current)
        #expect(host.requests.count == 4)
    }

    /// The browser subscribed again under the same endpoint.
    @Test func keyLearnedForASubscriptionMayChange() throws {
        try deliver(ticket: 1)
        host.answer(0, status: 400, body: Self.mismatch.body)
        host.answer(1, status: 201)
        try deliver(ticket: 2)
        host.answer(2, status: 400, body: Self.mismatch.body)
        #expect(try fixture.signer(of: host.requests.last) == current)
        host.answer(3, status: 201)
        try deliver(ticket: 3)
        #expect(try fixture.signer(of: host.requests.last) == current)
    }

    /// The host waits a minute for a delivery, and a user's push service may be as slow as it likes.
    @Test func allKeysAreTriedWithinOneDelivery() throws {
        try deliver(ticket: 1)
        #expect(host.requests[0].timeout == 30_000)
        fixture.clock.advance(by: .seconds(29))
        host.answer(0, status: 400, body: Self.mismatch.body)
        #expect(host.requests[1].timeout == 26_000)
    }

    @Test func untriedKeyComesFirstInTheNextAttempt() throws {
        try deliver(ticket: 1)
        fixture.clock.advance(by: .milliseconds(50_001))
        host.answer(0, status: 400, body: Self.mismatch.body)
        #expect(host.requests.count == 1)
        #expect(host.outcomes == [RecordedOutcome(ticket: 1, kind: .CARILLON_RETRY, reason: "busy")])
        try deliver(ticket: 2)
        #expect(try fixture.signer(of: host.requests.last) == old)
    }

    @Test func busyHostDuringARetryEndsTheDeliveryOnce() throws {
        try deliver(ticket: 1)
        host.setAdmission(.CARILLON_BUSY)
        host.answer(0, status: 400, body: Self.mismatch.body)
        #expect(host.outcomes == [RecordedOutcome(ticket: 1, kind: .CARILLON_RETRY, reason: "busy")])
    }

    @Test func namedKeyIsTheOnlyOneTried() throws {
        try deliver(ticket: 1, vapid: old)
        host.answer(0, status: 400, body: Self.mismatch.body)
        #expect(host.requests.count == 1)
        #expect(host.outcomes == [Self.mismatch.outcome(ticket: 1)])
    }

    @Test(arguments: [nil, 0, 1]) func aSubscriptionOfNoKeyOfOursIsDeadOnceTheKeyWasProven(_ named: Int?) throws {
        let vapid = named.map { [current, old][$0] }
        let fields = vapid.map { [(name: "vapid", value: $0)] } ?? []
        let outcome = { try bench.outcome(Self.mismatch, from: AnswerBench.apple, fields: fields) }
        let taken = AnswerRow(201, .CARILLON_DELIVERED, "delivered")
        // Success at another service proves nothing, nor does the other key.
        _ = try bench.outcome(taken, from: AnswerBench.google, fields: fields)
        let other = named == 1 ? current : old
        _ = try bench.outcome(taken, from: AnswerBench.apple, fields: [("vapid", other)])
        #expect(try outcome().kind == .CARILLON_REJECTED)
        _ = try bench.outcome(taken, from: AnswerBench.apple, fields: fields)
        let dead = try outcome()
        #expect(dead.kind == .CARILLON_GONE)
        #expect(dead.reason == "vapid-key-mismatch")
    }

    @Test func possiblyWrongKeyIsLoggedOnce() throws {
        for _ in 0..<3 { _ = try bench.outcome(Self.mismatch, from: AnswerBench.apple) }
        #expect(bench.lines("Apple reported that subscriptions use another key than vapid_key_file") == 1)
        fixture.clock.advance(by: .hours(48))
        _ = try bench.outcome(Self.mismatch, from: AnswerBench.apple)
        #expect(bench.lines("subscriptions use another key") == 1)
        try bench.prove(AnswerBench.apple)
        for _ in 0..<2 { _ = try bench.outcome(Self.mismatch, from: AnswerBench.apple) }
        #expect(bench.lines("a subscription uses another key than ours") == 1)
        #expect(host.log.filter { $0.contains("old_vapid_key_files") }.count == 2)
    }

    @Test func commandListsKeysAndTheirUse() throws {
        let answer = { (words: [String]) -> String? in
            let answers = Heard<CommandAnswer>()
            let admission = fixture.transport.command(words) { answers.add($0) }
            guard case .accepted = admission else { return nil }
            return answers.texts.joined(separator: "|")
        }
        #expect(answer(["status"]) == #"{"clients":{"vapid_public_keys":["\#(current)","\#(old)"]}}"#)
        #expect(
            answer(["vapid"])
                == "\(current) current, none accepted since startup\n\(old) former, none accepted since startup"
        )
        _ = try bench.outcome(
            AnswerRow(201, .CARILLON_DELIVERED, ""),
            from: AnswerBench.apple,
            fields: [("vapid", old)]
        )
        #expect(answer(["vapid"])?.hasSuffix("\(old) former, messages accepted since startup") == true)
        #expect(answer(["help"])?.contains("vapid") == true)
        #expect(answer([]) == nil)
        #expect(answer(["vapid", "x"]) == nil)
    }
}
