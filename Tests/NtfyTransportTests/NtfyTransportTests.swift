import CarillonABI
import PluginKit
import PluginTestSupport
import Testing

@testable import NtfyTransport

struct NtfyTransportTests {
    private func request(
        _ sample: SampleNotification,
        configuration: String = "{}",
        fields: [(name: String, value: String)] = []
    ) throws -> RecordedRequest {
        let fixture = try TransportFixture(configuration: configuration)
        let registration = SampleRegistration(token: TransportFixture.token, fields: fields)
        #expect(try fixture.deliver(sample, to: registration) == .CARILLON_OK)
        return try #require(fixture.host.requests.last)
    }

    private var alert: SampleNotification {
        var sample = SampleNotification.alert(title: "bob sent you a note", body: "hello\nthere")
        sample.url = "nostr:note1"
        return sample
    }

    @Test func messageIsPublishedAsJSONNextToTheTopic() throws {
        let request = try request(alert)
        #expect(request.method == "POST")
        #expect(request.url == "https://ntfy.example.com/")
        #expect(request.flags == 2)
        #expect(request.headers == ["content-type": "application/json"])
        #expect(
            try isSameJSON(
                request.bodyText,
                #"{"topic":"alerts","title":"bob sent you a note","message":"hello\nthere","priority":3,"click":"nostr:note1"}"#
            )
        )
    }

    @Test func aServerBelowAPathIsPublishedToThere() throws {
        let fixture = try TransportFixture()
        #expect(
            try fixture.deliver(alert, to: SampleRegistration(token: "http://host:8080/ntfy/my_topic-1"))
                == .CARILLON_OK
        )
        let request = try #require(fixture.host.requests.last)
        #expect(request.url == "http://host:8080/ntfy/")
        #expect(request.bodyText.contains(#""topic":"my_topic-1""#))
    }

    @Test func aProtectedTopicGetsItsToken() throws {
        #expect(try request(alert, fields: [("access_token", "tk_abc")]).headers["authorization"] == "Bearer tk_abc")
    }

    @Test func upToThreeButtonsOpenTheirURLOrTheNotifications() throws {
        var sample = alert
        sample.actions = (1...5).map { .init(id: "a\($0)", label: "L\($0)", url: $0 == 2 ? "app://2" : "") }
        let body = try request(sample).bodyText
        let actions =
            #""actions":[{"action":"view","label":"L1","url":"nostr:note1"},{"action":"view","label":"L2","url":"app://2"},{"action":"view","label":"L3","url":"nostr:note1"}]"#
        #expect(body.contains(actions))
        sample.url = ""
        #expect(try request(sample).bodyText.contains(#""actions":[{"action":"view","label":"L2","url":"app://2"}]"#))
        sample.actions = [.init(id: "a", label: "L")]
        #expect(try !request(sample).bodyText.contains("actions"))
    }

    @Test func rulesBlockCannotOverrideTopicAndMessage() throws {
        var sample = alert
        sample.native =
            #"{"priority":5,"tags":["bell"],"topic":"other","message":"x","title":"y","click":"https://c.example"}"#
        #expect(
            try isSameJSON(
                try request(sample).bodyText,
                #"{"topic":"alerts","title":"bob sent you a note","message":"hello\nthere","priority":5,"tags":["bell"],"click":"https://c.example"}"#
            )
        )
    }

    @Test func titleWithoutBodyIsTheMessage() throws {
        let body = try request(.alert(title: "alone", body: "")).bodyText
        #expect(try isSameJSON(body, #"{"topic":"alerts","message":"alone","priority":3}"#))
    }

    @Test func wakeUpShowsTheOperatorsText() throws {
        let one = SampleNotification.wake("dm")
        let seven = SampleNotification.wake("dm", count: 7)
        #expect(try request(one).bodyText == #"{"topic":"alerts","message":"New notification","priority":3}"#)
        #expect(try request(seven).bodyText.contains(#""message":"7 new notifications""#))
        var quiet = one
        quiet.native = #"{"priority":1,"tags":["bell"]}"#
        #expect(try request(quiet).bodyText == #"{"topic":"alerts","message":"New notification","priority":1}"#)
        let german = #"{"wake_message":"Neues","batch_message":"{n} neue"}"#
        #expect(try request(one, configuration: german).bodyText.contains(#""message":"Neues""#))
        #expect(try request(seven, configuration: german).bodyText.contains(#""message":"7 neue""#))
    }

    @Test func nudgeIsReadableAndSealedModeIsUnsupported() throws {
        var sample = SampleNotification.alert(title: "New notification", body: "")
        sample.mode = .CARILLON_NUDGE
        #expect(try request(sample).bodyText.contains(#""message":"New notification""#))
        sample.mode = .CARILLON_SEALED
        let fixture = try TransportFixture()
        #expect(try fixture.deliver(sample) == .CARILLON_UNSUPPORTED)
        #expect(fixture.host.requests.isEmpty)
    }

    @Test func longTextsFitUncut() throws {
        var sample = alert
        sample.body = String(repeating: "👩‍👩‍👧‍👦\"", count: 2000)
        let body = try request(sample).body
        #expect(body.count <= Message.limit && body.count > Message.limit - 64)
        let message = try JSONObject(parsing: String(decoding: body, as: UTF8.self))
        #expect(message["title"]?.string == sample.title)
        #expect(message["click"]?.string == sample.url)
        let text = try #require(message["message"]?.string)
        #expect(text.last == "…" && sample.body.hasPrefix(text.dropLast()))
    }

    @Test func messageThatCannotBeShortenedIsTooLarge() throws {
        var sample = alert
        sample.url = "https://x.example/" + String(repeating: "a", count: 5000)
        let fixture = try TransportFixture()
        #expect(try fixture.deliver(sample) == .CARILLON_OK)
        #expect(fixture.host.outcomes.map(\.reason) == ["payload-too-large"])
    }

    @Test(arguments: [
        "", "ntfy.sh/a", "https://ntfy.sh", "https://ntfy.sh/", "https://ntfy.sh/a?up=1", "https://ntfy.sh/ä",
        "https://ntfy.sh/v1", "https://user@ntfy.sh/a", "ftp://ntfy.sh/a",
        "https://ntfy.sh/" + String(repeating: "a", count: 65),
    ])
    func invalidTopicIsRefused(url: String) throws {
        let mistake = try #require(try TransportFixture().refusal(of: SampleRegistration(token: url)))
        #expect(mistake.contains("expected a topic's URL"))
    }

    @Test(
        arguments: [
            ([("access_token", "tk_abc")], "Bearer tk_abc"), ([("access_token", "")], nil), ([], nil),
            ([("username", "phil"), ("password", "a:b ö")], "Basic cGhpbDphOmIgw7Y="),
        ] as [([(name: String, value: String)], String?)]
    )
    func registrationsCredentialsAreUsed(fields: [(name: String, value: String)], header: String?) throws {
        let registration = SampleRegistration(token: TransportFixture.token, fields: fields)
        let fixture = try TransportFixture()
        #expect(fixture.refusal(of: registration) == nil)
        #expect(try fixture.deliver(alert, to: registration) == .CARILLON_OK)
        #expect(try #require(fixture.host.requests.first).headers["authorization"] == header)
    }

    @Test(
        arguments: [
            ([("username", "phil")], "password: required with username"),
            ([("password", "secret")], "username: required with password"),
            (
                [("access_token", "tk_1"), ("username", "phil"), ("password", "secret")],
                "access_token: expected either"
            ),
            ([("username", "ph:il"), ("password", "secret")], "username: expected the name"),
            ([("username", "phil"), ("password", "se\ncret")], "password: expected the account's password"),
            ([("access_token", String(repeating: "a", count: 257))], "access_token: expected ntfy's access token"),
        ] as [([(name: String, value: String)], String)]
    )
    func incompleteAccountIsRefused(fields: [(name: String, value: String)], words: String) throws {
        let registration = SampleRegistration(token: TransportFixture.token, fields: fields)
        let mistake = try #require(try TransportFixture().refusal(of: registration))
        #expect(mistake.hasPrefix(words))
        #expect(!mistake.contains("secret"))
        #expect(try TransportFixture().deliver(alert, to: registration) == .CARILLON_INVALID)
    }

    @Test func refusesTokensThatWouldBreakAHeader() throws {
        let registration = SampleRegistration(token: TransportFixture.token, fields: [("access_token", "a\r\nb")])
        #expect(try #require(try TransportFixture().refusal(of: registration)).contains("access_token"))
        #expect(try TransportFixture().deliver(alert, to: registration) == .CARILLON_INVALID)
    }

    @Test func unknownConfigurationKeysAreRefused() {
        for text in [#"{"topic":"x"}"#, #"{"wake_message":""}"#, #"{"batch_message":1}"#] {
            #expect(throws: PluginError.self) { try TransportFixture(configuration: text) }
        }
    }

    @Test func missingResponseIsRetriedUnlessTheAddressIsForbidden() throws {
        for (failure, kind) in [
            ("timeout", carillon_outcome_kind.CARILLON_RETRY), ("forbidden-address", .CARILLON_REJECTED),
        ] {
            let fixture = try TransportFixture()
            #expect(try fixture.deliver(alert) == .CARILLON_OK)
            fixture.host.answer(status: 0, failure: failure)
            #expect(fixture.host.outcomes.map(\.kind) == [kind])
        }
    }
}
