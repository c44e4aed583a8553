import CarillonABI
import PluginKit
import PluginTestSupport
import Testing

@testable import APNsTransport

/// Broadcasts for Live Activities.
struct BroadcastTests {
    static let channel = "dHN0LXNyY2gtY2hubA=="
    static let key = "the operator's own key"

    static func fixture(_ more: [String: any Sendable] = [:]) throws -> TransportFixture {
        try CertificateFiles.withFile(key + "\n") { path in
            try TransportFixture(more.merging(["broadcast_key_file": path]) { first, _ in first })
        }
    }

    static func registration(_ fields: [(String, String)] = []) -> SampleRegistration {
        SampleRegistration(token: "channel:" + channel, fields: [("broadcast_key", key)] + fields.map { ($0.0, $0.1) })
    }

    static func sample(_ native: String = #"{"event":"update","content-state":{"a":1}}"#) -> SampleNotification {
        var sample = SampleNotification.alert(title: "t", body: "b")
        sample.collapseKey = "key"
        sample.native = native
        return sample
    }

    private static let keyExpected = "broadcast_key: expected the key of the router's operator"
    private static let channelExpected = "token: expected " + ChannelID.description

    private let fixture: TransportFixture

    init() throws {
        fixture = try Self.fixture()
    }

    @Test func goesToTheAppsChannel() throws {
        #expect(try fixture.deliver(Self.sample(), to: Self.registration()) == .CARILLON_OK)
        let request = try #require(fixture.host.requests.first)
        #expect(request.method == "POST")
        #expect(request.url == "https://api.push.apple.com/4/broadcasts/apps/com.example.app")
        #expect(
            Set(request.headerNames) == [
                "authorization", "apns-channel-id", "apns-push-type", "apns-priority", "apns-expiration",
                "apns-request-id",
            ]
        )
        #expect(request.headers["apns-channel-id"] == Self.channel)
        #expect(request.headers["apns-push-type"] == "liveactivity")
        #expect(request.headers["apns-priority"] == "5")
        #expect(request.headers["apns-expiration"] == "0")
        #expect(request.headers["apns-request-id"] == "6c0f5f4e-9f4e-4c57-8c2e-0a1b2c3d4e5f")
        #expect(request.bodyText == #"{"aps":{"event":"update","timestamp":1770000000,"content-state":{"a":1}}}"#)
        #expect(!request.connection.isEmpty)
        fixture.accept()
        #expect(fixture.host.outcomes.map(\.kind) == [.CARILLON_DELIVERED])
    }

    @Test func channelStaysInItsEnvironment() throws {
        _ = try fixture.deliver(Self.sample(), to: Self.registration([("environment", "sandbox")]))
        #expect(
            fixture.host.requests.first?.url == "https://api.sandbox.push.apple.com/4/broadcasts/apps/com.example.app"
        )
    }

    @Test func broadcastExpiresWithTheNotification() throws {
        var sample = Self.sample()
        sample.expiresAt = 1_770_003_600_000
        _ = try fixture.deliver(sample, to: Self.registration())
        #expect(fixture.host.requests.last?.headers["apns-expiration"] == "1770003600")
        // A channel without message storage rejects the date.
        fixture.refuse(400, "BadExpirationDate")
        #expect(fixture.host.requests.last?.headers["apns-expiration"] == "0")
        #expect(fixture.host.requests.count == 2)
        #expect(fixture.host.requests.map { $0.timeout }.reduce(0, +) < 60_000)
        #expect(
            fixture.host.requests[0].headers["apns-request-id"] == fixture.host.requests[1].headers["apns-request-id"]
        )
        fixture.refuse(400, "BadExpirationDate")
        #expect(fixture.host.outcomes.map(\.reason) == ["bad-expiration-date"])
    }

    @Test(arguments: [
        "", "{}", #"{"push-type":"background"}"#, #"{"push-type":"voip"}"#,
        #"{"event":"start","content-state":{},"attributes-type":"A","attributes":{}}"#,
    ])
    func otherPushTypesAreRejectedForChannels(_ native: String) throws {
        #expect(try fixture.deliver(Self.sample(native), to: Self.registration()) == .CARILLON_OK)
        #expect(fixture.host.outcomes.map(\.kind) == [.CARILLON_REJECTED])
        #expect(fixture.host.outcomes.map(\.reason) == ["not-for-channels"])
        #expect(fixture.host.requests.isEmpty)
    }

    @Test func wakeUpsAndNudgesAreNotForChannels() throws {
        for sample in [.wake("dm"), .nudge("dm", title: "t"), .envelope("{}", title: "t")] as [SampleNotification] {
            _ = try fixture.deliver(sample, to: Self.registration())
            #expect(fixture.host.outcomes.last?.reason == "not-for-channels")
        }
        #expect(fixture.host.requests.isEmpty)
    }

    @Test func mayBeLargerThanAPush() throws {
        let state = String(repeating: "s", count: 5120 - 74)
        let exact = Self.sample(#"{"event":"update","content-state":{"a":"\#(state)"}}"#)
        _ = try fixture.deliver(exact, to: Self.registration())
        #expect(fixture.host.requests.first?.body.count == 5120)
        let larger = Self.sample(#"{"event":"update","content-state":{"a":"\#(state)x"}}"#)
        _ = try fixture.deliver(larger, to: Self.registration())
        #expect(fixture.host.outcomes.map(\.reason) == ["payload-too-large"])
    }

    @Test(
        arguments: [
            ("channel:" + channel, key, nil),
            ("channel:" + channel, "the operator's own kez", keyExpected),
            ("channel:" + channel, "", keyExpected),
            ("channel:", key, channelExpected),
            ("channel:no base64", key, channelExpected),
            ("channel:" + channel + "\r\n", key, channelExpected),
            ("channel:" + String(repeating: "A", count: 260), key, channelExpected),
        ] as [(String, String, String?)]
    )
    func channelRegistrationRequiresTheBroadcastKey(_ token: String, _ key: String, _ mistake: String?) throws {
        let registration = SampleRegistration(token: token, fields: [("broadcast_key", key)])
        #expect(fixture.refusal(of: registration) == mistake)
        guard mistake != nil else { return }
        #expect(try fixture.deliver(Self.sample(), to: registration) == .CARILLON_INVALID)
        #expect(fixture.host.requests.isEmpty)
    }

    @Test func channelsRequireABroadcastKey() throws {
        let fixture = try TransportFixture()
        #expect(
            fixture.refusal(of: Self.registration())
                == "token: expected an APNs device token, because this router sends no broadcasts"
        )
        #expect(try fixture.deliver(Self.sample(), to: Self.registration()) == .CARILLON_INVALID)
    }
}
