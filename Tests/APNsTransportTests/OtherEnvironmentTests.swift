import CarillonABI
import PluginTestSupport
import Testing

@testable import APNsTransport

/// `try_other_environment`: a token that one environment does not know is tried at the other, within the same delivery.
struct OtherEnvironmentTests {
    private static let production = "https://api.push.apple.com/3/device/"
    private static let sandbox = "https://api.sandbox.push.apple.com/3/device/"

    private let fixture: TransportFixture

    init() throws {
        fixture = try TransportFixture(["try_other_environment": true])
    }

    private var urls: [String] {
        fixture.host.requests.map { request in
            request.url.replacing(TransportFixture.deviceToken, with: "")
        }
    }

    @Test func tokenOfTheOtherEnvironmentIsDelivered() throws {
        _ = try fixture.deliver(.wake("dm"))
        fixture.refuse(400, "BadDeviceToken")
        #expect(fixture.host.outcomes == [])
        fixture.accept()
        #expect(fixture.host.outcomes.map(\.kind) == [.CARILLON_DELIVERED])
        #expect(urls == [Self.production, Self.sandbox])
        let requests = fixture.host.requests
        #expect(requests[0].headers == requests[1].headers)
        #expect(requests[0].headers["apns-id"] != nil)
        #expect(requests[0].body == requests[1].body)
        #expect(requests[0].connection == requests[1].connection)
        #expect(fixture.host.log == [])
    }

    @Test func deviceEnvironmentIsRemembered() throws {
        _ = try fixture.deliver(.wake("dm"))
        fixture.refuse(400, "BadDeviceToken")
        fixture.accept()
        _ = try fixture.deliver(.wake("dm"))
        fixture.accept()
        #expect(urls == [Self.production, Self.sandbox, Self.sandbox])
        // Other tokens keep their environment, and a changed one is detected again.
        let other = String(repeating: "ab", count: 32)
        _ = try fixture.deliver(.wake("dm"), to: SampleRegistration(token: other))
        #expect(urls.last == Self.production + other)
        fixture.accept()
        _ = try fixture.deliver(.wake("dm"))
        fixture.refuse(400, "BadDeviceToken")
        #expect(urls.last == Self.production)
        fixture.accept()
        _ = try fixture.deliver(.wake("dm"))
        #expect(urls.last == Self.production)
    }

    @Test func tokenUnknownInBothEnvironmentsIsGoneIfPushesSucceed() throws {
        _ = try fixture.deliver(.wake("dm"))
        fixture.refuse(400, "BadDeviceToken")
        fixture.refuse(400, "BadDeviceToken")
        #expect(fixture.host.outcomes.map(\.kind) == [.CARILLON_REJECTED])
        #expect(fixture.host.log.count == 1)
        _ = try fixture.deliver(.wake("dm"))
        fixture.accept()
        _ = try fixture.deliver(.wake("dm"))
        fixture.refuse(400, "BadDeviceToken")
        fixture.refuse(400, "BadDeviceToken")
        #expect(fixture.host.outcomes.map(\.kind).last == .CARILLON_GONE)
        #expect(fixture.host.requests.count == 5)
    }

    @Test(
        arguments: [
            // The key may be valid only for the first environment, so this error proves nothing.
            (403, "BadEnvironmentKeyIdInToken", .CARILLON_GONE, "bad-device-token"),
            (403, "InvalidProviderToken", .CARILLON_GONE, "bad-device-token"),
            (400, "TopicDisallowed", .CARILLON_GONE, "bad-device-token"),
            (400, "DeviceTokenNotForTopic", .CARILLON_GONE, "bad-device-token"),
            (410, "Unregistered", .CARILLON_GONE, "unregistered"),
            (503, "Shutdown", .CARILLON_RETRY, "shutdown"),
            (429, "TooManyRequests", .CARILLON_RETRY, "too-many-requests"),
        ] as [(UInt32, String, carillon_outcome_kind, String)]
    )
    func otherEnvironmentsResponseCountsIfItKnowsTheToken(
        _ status: UInt32,
        _ reason: String,
        _ kind: carillon_outcome_kind,
        _ label: String
    ) throws {
        try fixture.provePlace()
        _ = try fixture.deliver(.wake("dm"))
        fixture.refuse(400, "BadDeviceToken")
        fixture.refuse(status, reason)
        #expect(fixture.host.outcomes.last?.kind == kind)
        #expect(fixture.host.outcomes.last?.reason == label)
        #expect(fixture.host.requests.count == 3)
    }

    @Test(arguments: ["DeviceTokenNotForTopic", "TopicDisallowed", "BadPriority"])
    func otherRefusalsAreNotRetriedInTheOtherEnvironment(_ reason: String) throws {
        _ = try fixture.deliver(.wake("dm"))
        fixture.refuse(400, reason)
        #expect(fixture.host.requests.count == 1)
        #expect(fixture.host.outcomes.count == 1)
    }

    @Test func otherEnvironmentIsTriedOnlyIfConfigured() throws {
        let fixture = try TransportFixture()
        _ = try fixture.deliver(.wake("dm"))
        fixture.refuse(400, "BadDeviceToken")
        #expect(fixture.host.requests.count == 1)
    }

    @Test func singleServerHasNoOtherEnvironment() throws {
        let fixture = try TransportFixture(environment: "https://lab:2", ["try_other_environment": true])
        _ = try fixture.deliver(.wake("dm"))
        fixture.refuse(400, "BadDeviceToken")
        #expect(fixture.host.requests.count == 1)
    }

    /// Up to four requests: two tokens at two environments.
    @Test func specialTokenIsTriedInBothEnvironmentsBeforeTheDeviceToken() throws {
        let call = String(repeating: "c3", count: 32)
        let device = SampleRegistration(token: TransportFixture.deviceToken, fields: [("voip_token", call)])
        let sample = SampleNotification.alert(title: "t", body: "b", native: #"{"push-type":"voip"}"#)
        _ = try fixture.deliver(sample, to: device)
        for _ in 0..<3 { fixture.refuse(400, "BadDeviceToken") }
        fixture.accept()
        #expect(urls == [Self.production + call, Self.sandbox + call, Self.production, Self.sandbox])
        #expect(fixture.host.outcomes.map(\.kind) == [.CARILLON_DELIVERED])
        // The learned environment applies to all tokens of the device.
        _ = try fixture.deliver(.wake("dm"), to: device)
        #expect(urls.last == Self.sandbox)
    }
}
