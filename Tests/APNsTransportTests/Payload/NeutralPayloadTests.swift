import CarillonABI
import PluginTestSupport
import Testing

/// Payloads without sender and content: nudges and sealed notifications.
struct NeutralPayloadTests {
    private static let envelope = #"{"v":1,"alg":"nip44","from":"ab","ct":"AgAB+/=="}"#

    private let fixture: TransportFixture

    init() throws {
        fixture = try TransportFixture()
    }

    private func sample(_ mode: carillon_mode) -> SampleNotification {
        var sample = SampleNotification.alert(title: "New notification", body: "Open the app")
        sample.mode = mode
        sample.sealed = mode == .CARILLON_SEALED ? NeutralPayloadTests.envelope : ""
        return sample
    }

    /// Returns a notification with all values that an operator may set for every event.
    private func dressed(_ mode: carillon_mode) -> SampleNotification {
        var sample = sample(mode)
        sample.subtitle = "Inbox"
        sample.category = "news"
        sample.thread = "inbox"
        sample.collapseKey = "inbox"
        sample.url = "app://inbox"
        sample.actions = [.init(id: "open", label: "Open", url: "app://inbox")]
        sample.data = #"{"inbox":true}"#
        sample.native =
            #"{"sound":"default","badge":1,"interruption-level":"passive","category":"NEWS","priority":5}"#
        return sample
    }

    private func request(_ sample: SampleNotification) throws -> RecordedRequest {
        #expect(try fixture.deliver(sample) == .CARILLON_OK)
        return try #require(fixture.host.requests.last, "\(fixture.host.outcomes)")
    }

    @Test func aNudgeShowsTheNeutralTexts() throws {
        var sample = sample(.CARILLON_NUDGE)
        sample.signal = "dm"
        #expect(
            try request(sample).bodyText
                == #"{"aps":{"alert":{"title":"New notification","body":"Open the app"},"mutable-content":1},"t":"dm"}"#
        )
        sample.body = ""
        sample.count = 7
        #expect(
            try request(sample).bodyText
                == #"{"aps":{"alert":{"title":"New notification"},"mutable-content":1},"t":"batch","n":7}"#
        )
    }

    @Test func aSealedOneCarriesTheEnvelope() throws {
        var sample = sample(.CARILLON_SEALED)
        sample.signal = ""
        #expect(
            try request(sample).bodyText == """
                {"aps":{"alert":{"title":"New notification","body":"Open the app"},"mutable-content":1},\
                "sealed":\(NeutralPayloadTests.envelope)}
                """
        )
    }

    @Test(arguments: [carillon_mode.CARILLON_NUDGE, .CARILLON_SEALED])
    func sealedPushIsAnOrdinaryAlert(_ mode: carillon_mode) throws {
        var sample = sample(mode)
        let headers = try request(sample).headers
        #expect(headers["apns-push-type"] == "alert")
        #expect(headers["apns-priority"] == "10")
        #expect(headers["apns-topic"] == "com.example.app")
        sample.urgency = .CARILLON_LOW
        #expect(try request(sample).headers["apns-priority"] == "5")
    }

    @Test(arguments: [carillon_mode.CARILLON_NUDGE, .CARILLON_SEALED])
    func presentationFollowsTheConfiguration(_ mode: carillon_mode) throws {
        let sample = dressed(mode)
        let request = try request(sample)
        let news = mode == .CARILLON_SEALED ? #""sealed":\#(NeutralPayloadTests.envelope)"# : #""t":"reaction""#
        let expected = """
            {"aps":{"alert":{"title":"New notification","subtitle":"Inbox","body":"Open the app"},"thread-id":"inbox",
             "mutable-content":1,"sound":"default","badge":1,"interruption-level":"passive","category":"NEWS"},
             \(news),"category":"news","inbox":true,
             "body":{"_k":"\(sample.id)","url":"app://inbox",
              "action_buttons":[{"id":"open","label":"Open","url":"app://inbox"}]}}
            """
        #expect(try isSameJSON(request.bodyText, expected), "\(request.bodyText)")
        #expect(request.headers["apns-collapse-id"] == "inbox" && request.headers["apns-priority"] == "5")
        #expect(request.headers["apns-push-type"] == "alert")
    }

    @Test func nudgeWithoutTextIsUnsupported() throws {
        var sample = dressed(.CARILLON_NUDGE)
        (sample.title, sample.subtitle, sample.body) = ("", "", "")
        #expect(try fixture.deliver(sample) == .CARILLON_UNSUPPORTED)
        #expect(fixture.host.requests.isEmpty)
    }

    @Test func sealedPushWithoutTextIsSentInTheBackground() throws {
        var sample = sample(.CARILLON_SEALED)
        (sample.title, sample.body) = ("", "")
        let request = try request(sample)
        #expect(request.bodyText == #"{"aps":{"content-available":1},"sealed":\#(NeutralPayloadTests.envelope)}"#)
        #expect(request.headers["apns-push-type"] == "background" && request.headers["apns-priority"] == "5")
    }

    /// A batch shows the number of its events.
    @Test func aBatchTellsItsSize() throws {
        var sample = SampleNotification.alert(title: "7 new notifications", body: "")
        sample.count = 7
        sample.category = "batch"
        sample.native = #"{"sound":"default","badge":1,"mutable-content":1}"#
        let body = try request(sample).bodyText
        let expected = """
            {"aps":{"alert":{"title":"7 new notifications"},"sound":"default","badge":1,"mutable-content":1},
             "t":"batch","n":7,"category":"batch"}
            """
        #expect(try isSameJSON(body, expected), "\(body)")
        sample.data = #"{"t":"mine"}"#
        #expect(try request(sample).bodyText.contains(#""t":"mine""#))
    }

    @Test func sealedPushWithoutAnEnvelopeIsNotSent() throws {
        var sample = dressed(.CARILLON_SEALED)
        sample.sealed = ""
        #expect(try fixture.deliver(sample) == .CARILLON_UNSUPPORTED)
        #expect(fixture.host.requests.isEmpty)
    }

    @Test(arguments: ["[]", "{", "text", #"{"a":1}{"#]) func invalidEnvelopeIsRejected(_ sealed: String) throws {
        var sample = sample(.CARILLON_SEALED)
        sample.sealed = sealed
        #expect(try fixture.deliver(sample) == .CARILLON_OK)
        #expect(fixture.host.outcomes.map(\.reason) == ["bad-sealed"])
        #expect(fixture.host.requests.isEmpty)
    }

    @Test func textsAreShortenedBeforeTheEnvelope() throws {
        var sample = sample(.CARILLON_SEALED)
        sample.sealed = #"{"ct":"\#(String(repeating: "x", count: 3900))"}"#
        sample.body = String(repeating: "b", count: 500)
        #expect(try request(sample).body.count == 4096)
        sample.sealed = #"{"ct":"\#(String(repeating: "x", count: 4096))"}"#
        #expect(try fixture.deliver(sample) == .CARILLON_OK)
        #expect(fixture.host.outcomes.map(\.reason) == ["payload-too-large"])
    }
}
