import CarillonABI
import PluginKit
import PluginTestSupport
import Testing

@testable import GotifyTransport

struct GotifyTransportTests {
    private func request(_ sample: SampleNotification, configuration: String = "{}") throws -> RecordedRequest {
        let fixture = try TransportFixture(configuration: configuration)
        #expect(try fixture.deliver(sample) == .CARILLON_OK)
        return try #require(fixture.host.requests.last)
    }

    private var alert: SampleNotification {
        var sample = SampleNotification.alert(title: "bob", body: "hello")
        sample.url = "nostr:note1"
        return sample
    }

    @Test func theTokenTravelsInAHeader() throws {
        let request = try request(alert)
        #expect(request.method == "POST")
        #expect(request.url == "https://gotify.example.com/message")
        #expect(request.flags == 2)
        #expect(request.headers == ["content-type": "application/json", "x-gotify-key": "AbCdEf.123-_"])
    }

    @Test func clickOpensTheLink() throws {
        #expect(
            try isSameJSON(
                try request(alert).bodyText,
                """
                {"title":"bob","message":"hello","priority":5,"extras":{"client::display":{"contentType":"text/plain"},
                "client::notification":{"click":{"url":"nostr:note1"}}}}
                """
            )
        )
    }

    @Test func clickOpensTheFirstButtonWithoutALink() throws {
        var sample = alert
        sample.url = ""
        sample.actions = [.init(id: "a", label: "A"), .init(id: "b", label: "B", url: "app://b")]
        #expect(try request(sample).bodyText.contains(#""client::notification":{"click":{"url":"app://b"}}"#))
        sample.actions = []
        #expect(try !request(sample).bodyText.contains("client::notification"))
    }

    @Test func theRulesBlockBecomesExtras() throws {
        var sample = alert
        sample.native =
            #"{"priority":9,"markdown":true,"image":"https://i.example/1.png","intent":"app://open","extras":{"app::custom":{"k":1}}}"#
        #expect(
            try isSameJSON(
                try request(sample).bodyText,
                """
                {"title":"bob","message":"hello","priority":9,"extras":{"client::display":{"contentType":"text/markdown"},
                "client::notification":{"click":{"url":"nostr:note1"},"bigImageUrl":"https://i.example/1.png"},
                "android::action":{"onReceive":{"intentUrl":"app://open"}},"app::custom":{"k":1}}}
                """
            )
        )
        sample.native =
            #"{"extras":{"client::notification":{"click":{"url":"x"}},"client::display":{"contentType":"text/markdown"}}}"#
        let body = try request(sample).bodyText
        #expect(body.contains(#""click":{"url":"x"}"#) && !body.contains("note1") && !body.contains("text/plain"))
    }

    @Test func titleWithoutBodyIsTheMessage() throws {
        let body = try request(.alert(title: "alone", body: "")).bodyText
        #expect(body.contains(#""message":"alone""#) && !body.contains(#""title""#))
    }

    @Test func wakeUpShowsTheOperatorsText() throws {
        #expect(try request(.wake("dm")).bodyText == #"{"message":"New notification","priority":5}"#)
        var quiet = SampleNotification.wake("dm")
        quiet.native = #"{"priority":0}"#
        #expect(try request(quiet).bodyText == #"{"message":"New notification","priority":0}"#)
        let german = #"{"batch_message":"{n} neue"}"#
        #expect(try request(.wake("dm", count: 3), configuration: german).bodyText.contains("3 neue"))
    }

    @Test func sealedModeIsUnsupported() throws {
        var sample = alert
        sample.mode = .CARILLON_SEALED
        #expect(try TransportFixture().deliver(sample) == .CARILLON_UNSUPPORTED)
        sample.mode = .CARILLON_NUDGE
        #expect(try TransportFixture().deliver(sample) == .CARILLON_OK)
    }

    @Test func longTextsFitUncut() throws {
        var sample = alert
        sample.body = String(repeating: "ü\\", count: 4000)
        let body = try request(sample).body
        #expect(body.count <= Message.limit && body.count > Message.limit - 16)
        let message = try JSONObject(parsing: String(decoding: body, as: UTF8.self))
        #expect(message["title"]?.string == sample.title)
        let text = try #require(message["message"]?.string)
        #expect(text.last == "…" && sample.body.hasPrefix(text.dropLast()))
        sample.url = "https://x.example/" + String(repeating: "a", count: 5000)
        let fixture = try TransportFixture()
        #expect(try fixture.deliver(sample) == .CARILLON_OK)
        #expect(fixture.host.outcomes.map(\.reason) == ["payload-too-large"])
    }

    @Test(arguments: [
        "", "https://gotify.example.com", "https://gotify.example.com/message",
        "https://gotify.example.com/message?token=",
        "https://gotify.example.com/message?token=a&b=c", "https://gotify.example.com/message?token=a%0d",
        "gotify.example.com/message?token=a", "https://gotify.example.com/other?token=a",
    ])
    func invalidMessageURLIsRefused(url: String) throws {
        let mistake = try #require(try TransportFixture().refusal(of: SampleRegistration(token: url)))
        #expect(mistake.contains("expected an application's URL"))
        #expect(!mistake.contains("token=a&") && !mistake.contains("%0d"))
    }

    @Test func serverBelowAPathIsAccepted() throws {
        let fixture = try TransportFixture()
        let registration = SampleRegistration(token: "http://host:8080/gotify/message?token=Abc")
        #expect(fixture.refusal(of: registration) == nil)
        #expect(try fixture.deliver(alert, to: registration) == .CARILLON_OK)
        #expect(fixture.host.requests.last?.url == "http://host:8080/gotify/message")
    }

    /// The statuses of Gotify and of a proxy in front of it. A rejected token loses the message and not the device.
    @Test(
        arguments: [
            (200, .CARILLON_DELIVERED, "delivered", .CARILLON_SCOPE_DEFAULT),
            (302, .CARILLON_REJECTED, "redirect", .CARILLON_SCOPE_DEFAULT),
            (400, .CARILLON_REJECTED, "bad-request", .CARILLON_SCOPE_DEFAULT),
            (401, .CARILLON_REJECTED, "unauthorized", .CARILLON_SCOPE_DEFAULT),
            (403, .CARILLON_REJECTED, "forbidden", .CARILLON_SCOPE_DEFAULT),
            (404, .CARILLON_REJECTED, "not-found", .CARILLON_SCOPE_DEFAULT),
            (410, .CARILLON_REJECTED, "gone", .CARILLON_SCOPE_DEFAULT),
            (413, .CARILLON_REJECTED, "payload-too-large", .CARILLON_SCOPE_DEFAULT),
            (429, .CARILLON_RETRY, "too-many-requests", .CARILLON_SCOPE_HOST),
            (500, .CARILLON_RETRY, "server-error", .CARILLON_SCOPE_DEFAULT),
            (502, .CARILLON_RETRY, "server-error", .CARILLON_SCOPE_DEFAULT),
            (503, .CARILLON_RETRY, "server-error", .CARILLON_SCOPE_HOST),
            (507, .CARILLON_RETRY, "insufficient-storage", .CARILLON_SCOPE_DEVICE),
        ] as [(UInt32, carillon_outcome_kind, String, carillon_scope)]
    )
    func readsTheAnswer(status: UInt32, kind: carillon_outcome_kind, reason: String, scope: carillon_scope) throws {
        let fixture = try TransportFixture()
        #expect(try fixture.deliver(alert) == .CARILLON_OK)
        let body = #"{"error":"…","errorCode":\#(status),"errorDescription":"…"}"#
        fixture.host.answer(status: status, body: body)
        let expected = RecordedOutcome(ticket: 1, kind: kind, status: status, reason: reason, scope: scope)
        #expect(fixture.host.outcomes == [expected])
    }
}
