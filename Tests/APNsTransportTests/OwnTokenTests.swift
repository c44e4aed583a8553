import CarillonABI
import Core
import Foundation
import PluginTestSupport
import Testing
import TimeTestSupport

@testable import APNsTransport

/// Pushes to a device's separate tokens, and the handling of dead ones.
struct OwnTokenTests {
    struct Kind: Sendable, CustomTestStringConvertible {
        let type: String
        let field: String
        let suffix: String
        let priority: String
        let keeps: Bool
        let payload: String

        init(_ type: String, _ field: String, _ suffix: String, priority: String, keeps: Bool, _ payload: String) {
            (self.type, self.field, self.suffix) = (type, field, suffix)
            (self.priority, self.keeps, self.payload) = (priority, keeps, payload)
        }

        var testDescription: String { type }

        var token: String { String(repeating: field.utf8.reduce(0) { $0 &+ $1 } & 1 == 0 ? "a1" : "b2", count: 40) }

        var native: String {
            type == "liveactivity"
                ? #"{"content-state":{"a":1},"badge":3}"#
                : #"{"push-type":"\#(type)","badge":3,"content-changed":true}"#
        }
    }

    private static let texts = #""alert":{"title":"t","body":"b"},"badge":3"#
    private static let whole =
        #"{"aps":{\#(texts)},"body":{"_k":"6c0f5f4e-9f4e-4c57-8c2e-0a1b2c3d4e5f","url":"app://x"},"k":"v"}"#

    static let kinds = [
        Kind("location", "location_token", ".location-query", priority: "10", keeps: true, #"{"aps":{},"k":"v"}"#),
        Kind("voip", "voip_token", ".voip", priority: "10", keeps: false, whole),
        Kind("complication", "complication_token", ".complication", priority: "10", keeps: true, whole),
        Kind(
            "fileprovider",
            "fileprovider_token",
            ".pushkit.fileprovider",
            priority: "5",
            keeps: true,
            #"{"aps":{},"k":"v"}"#
        ),
        Kind(
            "liveactivity",
            "live_activity_token",
            ".push-type.liveactivity",
            priority: "5",
            keeps: true,
            #"{"aps":{"event":"update","timestamp":1770000000,"content-state":{"a":1}}}"#
        ),
        Kind("pushtotalk", "pushtotalk_token", ".voip-ptt", priority: "10", keeps: false, whole),
        Kind(
            "widgets",
            "widgets_token",
            ".push-type.widgets",
            priority: "5",
            keeps: true,
            #"{"aps":{"content-changed":true}}"#
        ),
        Kind(
            "controls",
            "controls_token",
            ".push-type.controls",
            priority: "5",
            keeps: true,
            #"{"aps":{"content-changed":true}}"#
        ),
    ]

    private let fixture: TransportFixture

    init() throws {
        fixture = try TransportFixture()
    }

    private func sample(_ kind: Kind) -> SampleNotification {
        var sample = SampleNotification.alert(title: "t", body: "b")
        sample.url = "app://x"
        sample.data = #"{"k":"v"}"#
        sample.native = kind.native
        return sample
    }

    private func device(_ kind: Kind, registeredAt: UInt64 = 0) -> SampleRegistration {
        TransportFixture.device([(kind.field, kind.token)], registeredAt: registeredAt)
    }

    private func isToDevice(_ request: RecordedRequest) -> Bool {
        request.url.hasSuffix(TransportFixture.deviceToken) && request.headers["apns-push-type"] == "alert"
            && request.headers["apns-topic"] == "com.example.app" && request.bodyText.contains(#""title":"t""#)
    }

    @Test(arguments: kinds) func eachHasItsTokenTopicAndPayload(_ kind: Kind) throws {
        #expect(try fixture.deliver(sample(kind), to: device(kind)) == .CARILLON_OK)
        let request = try #require(fixture.host.requests.first)
        #expect(request.url == "https://api.push.apple.com/3/device/" + kind.token)
        #expect(request.headers["apns-push-type"] == kind.type)
        #expect(request.headers["apns-topic"] == "com.example.app" + kind.suffix)
        #expect(request.headers["apns-priority"] == kind.priority)
        #expect(request.headers["apns-expiration"] == (kind.keeps ? "1770086400" : "0"))
        #expect(request.headers["apns-collapse-id"] == nil)
        #expect(try isSameJSON(request.bodyText, kind.payload), "\(request.bodyText)")
    }

    @Test(arguments: kinds) func deviceWithoutTheTokenGetsTheAlert(_ kind: Kind) throws {
        #expect(try fixture.deliver(sample(kind)) == .CARILLON_OK)
        #expect(isToDevice(try #require(fixture.host.requests.first)))
        #expect(fixture.host.log == [])
    }

    @Test(
        arguments: kinds,
        [(410, "Unregistered"), (410, "ExpiredToken"), (400, "BadDeviceToken"), (400, "DeviceTokenNotForTopic")]
            as [(UInt32, String)]
    )
    func alertReplacesAPushToADeadToken(_ kind: Kind, _ answer: (UInt32, String)) throws {
        _ = try fixture.deliver(sample(kind), to: device(kind))
        fixture.refuse(answer.0, answer.1)
        #expect(fixture.host.outcomes == [])
        let requests = fixture.host.requests
        try #require(requests.count == 2)
        #expect(isToDevice(requests[1]))
        #expect(requests[1].headers["apns-id"] == requests[0].headers["apns-id"])
        fixture.accept()
        #expect(fixture.host.outcomes.map(\.kind) == [.CARILLON_DELIVERED])
        // From now on the plugin does not use the token.
        _ = try fixture.deliver(sample(kind), to: device(kind), ticket: 2)
        #expect(isToDevice(try #require(fixture.host.requests.last)))
        #expect(fixture.host.requests.count == 3)
    }

    @Test func deviceThatRegistersAgainIsRetried() throws {
        let kind = Self.kinds[1]
        _ = try fixture.deliver(sample(kind), to: device(kind))
        fixture.refuse(410, "Unregistered")
        fixture.accept()
        _ = try fixture.deliver(sample(kind), to: device(kind, registeredAt: UInt64(ManualClock.start.milliseconds)))
        #expect(isToDevice(try #require(fixture.host.requests.last)))
        _ = try fixture.deliver(
            sample(kind),
            to: device(kind, registeredAt: UInt64(ManualClock.start.milliseconds) + 1)
        )
        #expect(fixture.host.requests.last?.url.hasSuffix(kind.token) == true)
    }

    /// An end that Apple dates before the registration leaves the token valid, but the push did not arrive.
    @Test func oldExpiryDoesNotRemoveTheToken() throws {
        let kind = Self.kinds[1]
        _ = try fixture.deliver(sample(kind), to: device(kind, registeredAt: 2000))
        fixture.refuse(410, "Unregistered", timestamp: 1999)
        #expect(isToDevice(try #require(fixture.host.requests.last)))
        _ = try fixture.deliver(sample(kind), to: device(kind, registeredAt: 2000))
        #expect(fixture.host.requests.last?.url.hasSuffix(kind.token) == true)
    }

    @Test func deviceTokensResponseDecidesThen() throws {
        let kind = Self.kinds[1]
        _ = try fixture.deliver(sample(kind), to: device(kind))
        fixture.refuse(410, "Unregistered")
        fixture.refuse(410, "Unregistered")
        #expect(fixture.host.outcomes.map(\.kind) == [.CARILLON_GONE])
        #expect(fixture.host.requests.count == 2)
    }

    /// The host makes a wake-up of it.
    @Test func deadTokenWithoutAlertTextIsReported() throws {
        let kind = Self.kinds[6]
        var sample = sample(kind)
        sample.title = ""
        sample.body = ""
        sample.native = #"{"push-type":"widgets"}"#
        _ = try fixture.deliver(sample, to: device(kind))
        fixture.refuse(410, "Unregistered")
        #expect(
            fixture.host.outcomes
                == [RecordedOutcome(ticket: 1, kind: .CARILLON_REJECTED, status: 410, reason: "payload-empty")]
        )
    }

    @Test(arguments: [(400, "BadPriority"), (413, "PayloadTooLarge"), (503, "Shutdown")] as [(UInt32, String)])
    func refusalUnrelatedToTheTokenIsFinal(_ status: UInt32, _ reason: String) throws {
        let kind = Self.kinds[1]
        _ = try fixture.deliver(sample(kind), to: device(kind))
        fixture.refuse(status, reason)
        #expect(fixture.host.requests.count == 1)
        #expect(fixture.host.outcomes.map(\.kind) == [status == 503 ? .CARILLON_RETRY : .CARILLON_REJECTED])
    }

    @Test func busyHostDuringTheFallbackIsARetry() throws {
        let kind = Self.kinds[1]
        _ = try fixture.deliver(sample(kind), to: device(kind))
        fixture.host.setAdmission(.CARILLON_BUSY)
        fixture.refuse(410, "Unregistered")
        #expect(fixture.host.outcomes.map(\.kind) == [.CARILLON_RETRY])
    }

    /// Several requests must fit into the time of one delivery.
    @Test func eachOfSeveralAttemptsHasItsShareOfTheTime() throws {
        let kind = Self.kinds[1]
        _ = try fixture.deliver(.wake("dm"))
        _ = try fixture.deliver(sample(kind), to: device(kind))
        fixture.refuse(410, "Unregistered")
        #expect(fixture.host.requests.map(\.timeout) == [0, 12_000, 12_000])
    }
}
