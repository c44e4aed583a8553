import CarillonABI
import PluginTestSupport
import Testing

/// What shows neither who nor what: nudges, and sealed notifications.
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

    /// With all that has no place in it.
    private func overfull(_ mode: carillon_mode) -> SampleNotification {
        var sample = sample(mode)
        sample.subtitle = "secret"
        sample.category = "secret"
        sample.thread = "secret"
        sample.collapseKey = "secret"
        sample.url = "app://secret"
        sample.actions = [.init(id: "secret", label: "secret", url: "app://secret")]
        sample.data = #"{"author_pubkey":"secret","event_id":"secret"}"#
        sample.native = #"{"push-type":"voip","thread-id":"secret","alert":"secret"}"#
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
    func isAnAlertLikeAnyOther(_ mode: carillon_mode) throws {
        var sample = sample(mode)
        let headers = try request(sample).headers
        #expect(headers["apns-push-type"] == "alert")
        #expect(headers["apns-priority"] == "10")
        #expect(headers["apns-topic"] == "com.example.app")
        sample.urgency = .CARILLON_LOW
        #expect(try request(sample).headers["apns-priority"] == "5")
    }

    @Test(arguments: [carillon_mode.CARILLON_NUDGE, .CARILLON_SEALED])
    func carriesNothingElseEvenWhenItIsGivenMore(_ mode: carillon_mode) throws {
        let request = try request(overfull(mode))
        #expect(!request.bodyText.contains("secret"))
        #expect(!request.headers.values.contains { $0.contains("secret") })
        #expect(request.headers["apns-collapse-id"] == nil)
        #expect(request.url.hasSuffix(TransportFixture.deviceToken))
    }

    @Test(arguments: [carillon_mode.CARILLON_NUDGE, .CARILLON_SEALED])
    func withoutATextThereIsNoSuchPush(_ mode: carillon_mode) throws {
        var sample = sample(mode)
        sample.title = ""
        sample.body = ""
        #expect(try fixture.deliver(sample) == .CARILLON_UNSUPPORTED)
        #expect(fixture.host.requests.isEmpty)
    }

    @Test func whatIsNotSealedIsNotSent() throws {
        var sample = overfull(.CARILLON_SEALED)
        sample.sealed = ""
        #expect(try fixture.deliver(sample) == .CARILLON_UNSUPPORTED)
        #expect(fixture.host.requests.isEmpty)
    }

    @Test(arguments: ["[]", "{", "text", #"{"a":1}{"#]) func anEnvelopeThatIsNoObjectIsRejected(_ sealed: String) throws
    {
        var sample = sample(.CARILLON_SEALED)
        sample.sealed = sealed
        #expect(try fixture.deliver(sample) == .CARILLON_OK)
        #expect(fixture.host.outcomes.map(\.reason) == ["bad-sealed"])
        #expect(fixture.host.requests.isEmpty)
    }

    @Test func textsGiveWayToTheEnvelope() throws {
        var sample = sample(.CARILLON_SEALED)
        sample.sealed = #"{"ct":"\#(String(repeating: "x", count: 3900))"}"#
        sample.body = String(repeating: "b", count: 500)
        #expect(try request(sample).body.count == 4096)
        sample.sealed = #"{"ct":"\#(String(repeating: "x", count: 4096))"}"#
        #expect(try fixture.deliver(sample) == .CARILLON_OK)
        #expect(fixture.host.outcomes.map(\.reason) == ["payload-too-large"])
    }
}
