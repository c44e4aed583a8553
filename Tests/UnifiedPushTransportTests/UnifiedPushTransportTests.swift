import CarillonABI
import Cipher
import PluginKit
import PluginTestSupport
import Testing

@testable import UnifiedPushTransport

struct UnifiedPushTransportTests {
    private let fixture: TransportFixture

    init() throws {
        fixture = try TransportFixture()
    }

    private func request(_ sample: SampleNotification, encrypted: Bool = false) throws -> RecordedRequest {
        #expect(try fixture.deliver(sample, to: encrypted ? fixture.encrypted : fixture.plain) == .CARILLON_OK)
        return try #require(fixture.host.requests.last)
    }

    private func isValid(_ registration: SampleRegistration) -> Bool {
        do {
            try registration.withABI { try fixture.transport.validate(Registration($0)) }
            return true
        } catch {
            return false
        }
    }

    @Test func postsToTheEndpointAsAUsersURL() throws {
        let request = try request(.wake("dm"))
        #expect(request.method == "POST")
        #expect(request.url == TransportFixture.endpoint)
        #expect(request.flags == 2)
        #expect(request.headers == ["ttl": "86400", "urgency": "normal", "content-type": "application/json"])
    }

    @Test func messageIsEncryptedIfTheRegistrationHasKeys() throws {
        let request = try request(.wake("dm"), encrypted: true)
        #expect(
            request.headers == [
                "ttl": "86400", "urgency": "normal", "content-type": "application/octet-stream",
                "content-encoding": "aes128gcm",
            ]
        )
        #expect(try fixture.decrypt(request) == #"{"t":"dm"}"#)
        let again = try self.request(.wake("dm"), encrypted: true)
        #expect(again.body != request.body)
    }

    @Test(arguments: [(carillon_urgency.CARILLON_LOW, "low"), (.CARILLON_NORMAL, "normal"), (.CARILLON_HIGH, "high")])
    func urgencyMatchesTheNotification(_ urgency: carillon_urgency, _ header: String) throws {
        var sample = SampleNotification.wake("dm")
        sample.urgency = urgency
        #expect(try request(sample).headers["urgency"] == header)
    }

    @Test(
        arguments: [
            (1_770_000_060_999, "60"), (1_770_000_000_000, "0"), (5, "0"), (UInt64.max, "2419200"),
        ] as [(UInt64, String)]
    )
    func ttlMatchesTheNotificationsExpiry(_ expiresAt: UInt64, _ header: String) throws {
        var sample = SampleNotification.wake("dm")
        sample.expiresAt = expiresAt
        #expect(try request(sample).headers["ttl"] == header)
    }

    @Test func onlyAnAlertHasATopicAndItIsOpaque() throws {
        var sample = SampleNotification.alert(title: "t", body: "b")
        sample.collapseKey = "note1secret"
        let topic = try #require(try request(sample).headers["topic"])
        #expect(topic.utf8.count == 32)
        #expect(Base64URL.decode(topic) != nil)
        sample.mode = .CARILLON_SEALED
        #expect(try request(sample, encrypted: true).headers["topic"] == nil)
        sample.mode = .CARILLON_WAKE
        #expect(try request(sample).headers["topic"] == nil)
    }

    @Test func sealedModeRequiresKeys() throws {
        var sample = SampleNotification.alert(title: "t", body: "b")
        sample.mode = .CARILLON_SEALED
        #expect(try fixture.deliver(sample, to: fixture.plain) == .CARILLON_UNSUPPORTED)
        #expect(fixture.host.requests.isEmpty)
        #expect(try fixture.decrypt(request(sample, encrypted: true)).contains(#""title":"t""#))
    }

    @Test func sealedBodiesHaveOneSize() throws {
        var sizes: Set<Int> = []
        for length in [0, 1, 40, 900, 1900, 5000] {
            var sample = SampleNotification.alert(title: "t", body: String(repeating: "é", count: length))
            sample.mode = .CARILLON_SEALED
            sizes.insert(try request(sample, encrypted: true).body.count)
        }
        #expect(sizes == [2048 + 103])
    }

    @Test(arguments: [false, true]) func hostEncryptedPayloadIsPassedOn(_ encrypted: Bool) throws {
        let envelope = #"{"v":1,"alg":"nip44","from":"ab","ct":"AAAA"}"#
        let request = try request(.envelope(envelope, title: "New notification"), encrypted: encrypted)
        let message = encrypted ? try fixture.decrypt(request) : request.bodyText
        #expect(message == #"{"sealed":\#(envelope)}"#)
        #expect(request.headers["topic"] == nil)
    }

    @Test func invalidOrTooLargeEnvelopeIsRejected() throws {
        for envelope in ["[]", #"{"v":1"#, #"{"ct":"\#(String(repeating: "A", count: 4096))"}"#] {
            #expect(try fixture.deliver(.envelope(envelope, title: "t"), to: fixture.encrypted) == .CARILLON_OK)
        }
        #expect(fixture.host.requests.isEmpty)
        #expect(fixture.host.outcomes.map(\.reason) == ["bad-envelope", "bad-envelope", "payload-too-large"])
    }

    @Test func unknownModeIsUnsupported() throws {
        var sample = SampleNotification.alert(title: "t", body: "b")
        sample.mode = try #require(carillon_mode(rawValue: 99))
        #expect(try fixture.deliver(sample, to: fixture.encrypted) == .CARILLON_UNSUPPORTED)
    }

    @Test func takesEndpointsOfAThousandBytes() {
        let base = "https://push.example.com/"
        #expect(isValid(SampleRegistration(token: base + String(repeating: "x", count: 1000 - base.count))))
        #expect(!isValid(SampleRegistration(token: base + String(repeating: "x", count: 1001 - base.count))))
        #expect(isValid(SampleRegistration(token: "http://192.168.1.2:8080/up?token=1")))
    }

    @Test(arguments: [
        "", "up123", "ftp://example.com/", "https://user:pw@example.com/", "https://example.com/#x",
        "https://exa mple.com/",
        "https://example.com/\r\nx: y", "https://example.com/\u{0}", "file:///etc/passwd", "https://",
    ])
    func invalidEndpointIsRefused(_ token: String) throws {
        let registration = SampleRegistration(token: token)
        #expect(!isValid(registration))
        #expect(try fixture.deliver(.wake("dm"), to: registration) == .CARILLON_INVALID)
        #expect(fixture.host.requests.isEmpty)
    }

    @Test func invalidUTF8IsRefused() throws {
        var registration = SampleRegistration(token: "")
        registration.token = Array("https://example.com/".utf8) + [0xFF]
        #expect(!isValid(registration))
        #expect(try fixture.deliver(.wake("dm"), to: registration) == .CARILLON_INVALID)
    }

    @Test func incompleteKeysAreRefused() throws {
        let point = Base64URL.encode(fixture.deviceKey.publicKey.x963Representation)
        let secret = Base64URL.encode(fixture.secret)
        let bad: [[(name: String, value: String)]] = [
            [("p256dh", point)], [("auth", secret)], [("p256dh", ""), ("auth", "")],
            [("p256dh", point), ("auth", "AAAA")],
            [("p256dh", "BAAA"), ("auth", secret)], [("p256dh", String(repeating: "B", count: 87)), ("auth", secret)],
        ]
        for fields in bad {
            let registration = SampleRegistration(token: TransportFixture.endpoint, fields: fields)
            #expect(!isValid(registration), "\(fields.map(\.name))")
            #expect(try fixture.deliver(.wake("dm"), to: registration) == .CARILLON_INVALID)
        }
        #expect(isValid(fixture.encrypted))
        #expect(fixture.host.requests.isEmpty)
    }

    /// ntfy silently cuts longer messages, so no longer one is sent, even if it cannot be shortened.
    @Test(arguments: [false, true]) func messagesStayWithinThePushServicesLimit(_ encrypted: Bool) throws {
        var sample = SampleNotification.alert(title: "t", body: String(repeating: "é", count: 9000))
        #expect(try request(sample, encrypted: encrypted).body.count <= 4096)
        sample.signal = String(repeating: "x", count: 5000)
        for mode in [carillon_mode.CARILLON_WAKE, .CARILLON_NUDGE, .CARILLON_ALERT] {
            sample.mode = mode
            let count = fixture.host.requests.count
            #expect(try fixture.deliver(sample, to: encrypted ? fixture.encrypted : fixture.plain) == .CARILLON_OK)
            #expect(fixture.host.requests.count == count)
            #expect(fixture.host.outcomes.last?.reason == "payload-too-large")
        }
    }

    /// Otherwise the push service could infer the subject of a wake-up from its length.
    @Test func wakeUpsHaveOneSize() throws {
        let sizes = try ["dm", "reaction", "mention", "x"].map { try request(.wake($0), encrypted: true).body.count }
        #expect(Set(sizes) == [256 + 103])
        #expect(try request(.wake("dm", count: 1_000_000), encrypted: true).body.count == 256 + 103)
        let alert = SampleNotification.alert(title: "t", body: String(repeating: "x", count: 300))
        #expect(try request(alert, encrypted: true).body.count == 512 + 103)
        let long = SampleNotification.alert(title: "t", body: String(repeating: "x", count: 9000))
        #expect(try request(long, encrypted: true).body.count == 4096)
    }

    @Test func busyHostIsReportedAsBusy() throws {
        fixture.host.setAdmission(.CARILLON_BUSY)
        #expect(try fixture.deliver(.wake("dm"), to: fixture.plain) == .CARILLON_BUSY)
        #expect(fixture.host.outcomes.isEmpty)
    }
}
