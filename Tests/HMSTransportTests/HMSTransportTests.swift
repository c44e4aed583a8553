import CarillonABI
import PluginKit
import PluginTestSupport
import Testing
import Units

@testable import HMSTransport

struct HMSTransportTests {
    private let fixture: TransportFixture

    init() throws {
        fixture = try TransportFixture()
    }

    private var host: FakeHost { fixture.host }

    /// Delivers, and has Push Kit answer.
    private func outcome(
        _ status: UInt32,
        _ code: String,
        message: String = "",
        ticket: UInt64
    ) throws
        -> RecordedOutcome?
    {
        try fixture.deliver(ticket: ticket)
        if host.requests.count == 1 { fixture.grant() }
        try fixture.answer(host.requests.count - 1, status: status, code: code, message: message)
        return host.outcomes.last { $0.ticket == ticket }
    }

    @Test func asksForATokenAndSends() throws {
        try fixture.deliver(ticket: 1)
        try fixture.deliver(ticket: 2)
        #expect(host.requests.map(\.url) == [TransportFixture.tokenURL])
        #expect(
            host.requests[0].bodyText
                == "grant_type=client_credentials&client_id=101234567&client_secret=secret%26more%3D"
        )
        fixture.grant()
        #expect(host.requests.dropFirst().map(\.url) == [TransportFixture.sendURL, TransportFixture.sendURL])
        #expect(host.requests[1].headers["authorization"] == "Bearer DAEDAtoken")
        #expect(host.requests[1].flags == 0)
        try fixture.answer(1, code: "80000000")
        try fixture.answer(2, code: "80000000")
        #expect(host.outcomes.map(\.kind) == [.CARILLON_DELIVERED, .CARILLON_DELIVERED])
    }

    @Test(arguments: [(401, "80200001"), (200, "80200003"), (401, "")] as [(UInt32, String)])
    func aRefusedTokenIsReplacedOnce(_ status: UInt32, _ code: String) throws {
        try fixture.deliver()
        fixture.grant("old")
        try fixture.answer(1, status: status, code: code)
        fixture.grant("new", at: 2)
        #expect(host.requests[3].headers["authorization"] == "Bearer new")
        #expect(host.requests[1].body == host.requests[3].body)
        try fixture.answer(3, status: status, code: code)
        #expect(host.outcomes.map(\.kind) == [.CARILLON_MISCONFIGURED])
        #expect(host.log.count == 1)
    }

    @Test func aTokenIsForgottenOnlyOnceTheAppHasDevices() throws {
        #expect(try outcome(200, "80300007", ticket: 1)?.kind == .CARILLON_RETRY)
        #expect(try outcome(400, "80300002", ticket: 2)?.kind == .CARILLON_RETRY)
        #expect(try outcome(200, "80000000", ticket: 3)?.kind == .CARILLON_DELIVERED)
        #expect(try outcome(200, "80300007", ticket: 4)?.kind == .CARILLON_GONE)
        #expect(try outcome(400, "80300002", ticket: 5)?.kind == .CARILLON_REJECTED)
        #expect(!host.log.joined().contains(TransportFixture.token))
    }

    @Test func ofAPartlyAcceptedMessageOurTokenDecides() throws {
        _ = try outcome(200, "80000000", ticket: 1)
        let mine = #"{"success":0,"failure":1,"illegal_tokens":["\#(TransportFixture.token)"]}"#
        #expect(try outcome(200, "80100000", message: mine, ticket: 2)?.kind == .CARILLON_GONE)
        let other = #"{"success":1,"failure":1,"illegal_tokens":["another"]}"#
        #expect(try outcome(200, "80100000", message: other, ticket: 3)?.kind == .CARILLON_DELIVERED)
        #expect(try outcome(200, "80100000", message: "words", ticket: 4)?.kind == .CARILLON_DELIVERED)
    }

    @Test(
        arguments: [
            (403, #"{"sub_error":20043,"error_description":"invalid client secret","error":1101}"#, "token-refused"),
            (401, #"{"error":"invalid_client"}"#, "invalid-client"),
        ] as [(UInt32, String, String)]
    )
    func aWrongSecretIsTheOperatorsBusiness(_ status: UInt32, _ body: String, _ reason: String) throws {
        try fixture.deliver()
        host.answer(0, status: status, body: body)
        let expected = RecordedOutcome(ticket: 1, kind: .CARILLON_MISCONFIGURED, status: status, reason: reason)
        #expect(host.outcomes == [expected])
        #expect(host.log.count == 1 && !host.log[0].contains("secret&more"))
    }

    @Test func whoeverIsCancelledWaitsNoLonger() throws {
        try fixture.deliver(ticket: 2)
        fixture.transport.cancel(2)
        #expect(host.outcomes.map(\.reason) == ["cancelled"])
    }

    @Test(
        arguments: [
            (TransportFixture.token, true), (String(repeating: "a", count: 32), true),
            (String(repeating: "a", count: 31), false), ("", false), (TransportFixture.token + "\"", false),
            ("https://push.example/" + TransportFixture.token, false),
        ]
    )
    func knowsPlausibleTokens(_ token: String, _ isPlausible: Bool) throws {
        #expect(try fixture.deliver(to: token) == (isPlausible ? .CARILLON_OK : .CARILLON_INVALID))
    }

    private static let mistakes: [([String: any Sendable], String)] = [
        (["app_id": ""], "app_id: expected the app's id in AppGallery Connect, a number, found text"),
        (["app_id": "10/../1"], "app_id: expected the app's id in AppGallery Connect, a number, found text"),
        (
            ["client_secret": ""],
            "client_secret: expected the app's client secret in AppGallery Connect, found another text"
        ),
        (["client_secret": 7], "client_secret: expected the app's client secret in AppGallery Connect, found a number"),
        (["token_url": "http://x/"], "token_url: expected an https URL"),
        (["origin": "https://x/y"], "origin: expected https://host:port"),
        (["high_priority": "yes"], "high_priority: expected true or false, found text"),
        (
            ["appid": "1"],
            "appid: unknown key, expected only app_id, client_secret, client_secret_file, high_priority, token_url, origin"
        ),
    ]

    @Test(arguments: mistakes.indices)
    func namesWhatIsWrongInTheBlock(_ index: Int) throws {
        let (change, sentence) = Self.mistakes[index]
        let block = try TransportFixture.object(TransportFixture.block.merging(change) { $1 })
        do throws(PluginError) {
            _ = try HMSConfiguration(block)
            Issue.record("it was taken")
        } catch {
            #expect(error.description == sentence)
        }
    }

    @Test(
        "carillon push hms check: an access token without a message",
        arguments: [
            (200, #"{"access_token":"t","expires_in":3600,"token_type":"Bearer"}"#, "accepted"),
            (400, #"{"error":"invalid_client"}"#, "refused: invalid-client (400)"),
            (503, "", "unknown: token-server-error (503)"),
        ] as [(UInt32, String, String)]
    )
    func theSecretIsChecked(status: UInt32, body: String, expected: String) throws {
        let fixture = try TransportFixture()
        let heard = HeardAnswers()
        _ = fixture.transport.command(["check"]) { heard.add($0) }
        fixture.host.answer(0, status: status, body: body)
        #expect(heard.texts == [expected])
        #expect(fixture.host.requests.map(\.url) == [TransportFixture.tokenURL])
    }

    @Test func theSecretMayStandInAFile() throws {
        let block = try TransportFixture.object([
            "app_id": 1, "client_secret_file": "s", "$files": ["s": "of-the-file\n"],
        ])
        #expect(try HMSConfiguration(block).clientSecret == "of-the-file")
    }
}
