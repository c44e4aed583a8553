import CarillonABI
import PluginKit
import PluginTestSupport
import Testing

@testable import APNsTransport

/// Background pushes, Live Activities and calls: their topics, headers and responses.
struct OtherPushTypesTests {
    private static let activityToken = String(repeating: "a1", count: 80)
    private static let startToken = String(repeating: "b2", count: 80)
    private static let callToken = String(repeating: "c3", count: 32)

    private let fixture: TransportFixture
    private let device = TransportFixture.device([
        ("live_activity_token", activityToken), ("live_activity_start_token", startToken), ("voip_token", callToken),
    ])

    init() throws {
        fixture = try TransportFixture()
    }

    private func sample(_ native: String) -> SampleNotification {
        var sample = SampleNotification.alert(title: "t", body: "b")
        sample.collapseKey = "key"
        sample.native = native
        return sample
    }

    private func request(_ sample: SampleNotification, to device: SampleRegistration? = nil) throws -> RecordedRequest {
        #expect(try fixture.deliver(sample, to: device ?? self.device) == .CARILLON_OK)
        return try #require(fixture.host.requests.last, "\(fixture.host.outcomes)")
    }

    @Test(
        arguments: [
            ("{}", TransportFixture.deviceToken, "com.example.app", "alert"),
            (#"{"push-type":"background"}"#, TransportFixture.deviceToken, "com.example.app", "background"),
            (#"{"content-state":{}}"#, activityToken, "com.example.app.push-type.liveactivity", "liveactivity"),
            (#"{"event":"end"}"#, activityToken, "com.example.app.push-type.liveactivity", "liveactivity"),
            (
                #"{"event":"start","content-state":{},"attributes-type":"A","attributes":{}}"#, startToken,
                "com.example.app.push-type.liveactivity", "liveactivity"
            ),
            (#"{"push-type":"voip"}"#, callToken, "com.example.app.voip", "voip"),
        ]
    )
    func eachPushTypeUsesItsTokenAndTopic(_ native: String, _ token: String, _ topic: String, _ type: String) throws {
        let request = try request(sample(native))
        #expect(request.url == "https://api.push.apple.com/3/device/" + token)
        #expect(request.headers["apns-topic"] == topic)
        #expect(request.headers["apns-push-type"] == type)
        #expect(request.headers["apns-collapse-id"] == (type == "alert" ? "key" : nil))
    }

    @Test(
        arguments: [
            // Set in the block.
            ("alert", 1, carillon_urgency.CARILLON_NORMAL, "1"), ("alert", 5, .CARILLON_HIGH, "5"),
            ("alert", 10, .CARILLON_LOW, "10"), ("voip", 5, .CARILLON_NORMAL, "5"),
            ("liveactivity", 5, .CARILLON_HIGH, "5"), ("liveactivity", 10, .CARILLON_LOW, "10"),
            // Apple may reject these.
            ("background", 10, .CARILLON_HIGH, "5"), ("background", 1, .CARILLON_HIGH, "5"),
            ("liveactivity", 1, .CARILLON_HIGH, "5"),
            // Derived from the notification.
            ("alert", nil, .CARILLON_LOW, "5"), ("alert", nil, .CARILLON_NORMAL, "10"),
            ("voip", nil, .CARILLON_LOW, "10"),
            ("background", nil, .CARILLON_HIGH, "5"), ("liveactivity", nil, .CARILLON_NORMAL, "5"),
            ("liveactivity", nil, .CARILLON_HIGH, "10"),
        ] as [(String, Int?, carillon_urgency, String)]
    )
    func priorityComesFromTheBlockIfAppleAllowsIt(
        _ type: String,
        _ asked: Int?,
        _ urgency: carillon_urgency,
        _ expected: String
    ) throws {
        let priority = asked.map { #","priority":\#($0)"# } ?? ""
        let state = type == "liveactivity" ? #","content-state":{}"# : ""
        var sample = sample(#"{"push-type":"\#(type)"\#(priority)\#(state)}"#)
        sample.urgency = urgency
        #expect(try request(sample).headers["apns-priority"] == expected)
    }

    @Test func unansweredCallExpires() throws {
        var sample = sample(#"{"push-type":"voip"}"#)
        #expect(try request(sample).headers["apns-expiration"] == "0")
        sample.expiresAt = 1_770_000_030_000
        #expect(try request(sample).headers["apns-expiration"] == "1770000030")
        sample.native = #"{"content-state":{}}"#
        sample.expiresAt = 0
        #expect(try request(sample).headers["apns-expiration"] == "1770086400")
    }

    @Test func aCallMayBeLarger() throws {
        var sample = sample(#"{"push-type":"voip"}"#)
        sample.body = String(repeating: "b", count: 6000)
        sample.actions = [.init(id: "1", label: "1")]
        let call = try request(sample)
        #expect(call.body.count == 5120)
        #expect(!call.bodyText.contains("action_buttons"))
        #expect(!call.bodyText.contains("mutable-content"))
        let alert = try request(sample, to: fixture.device)
        #expect(alert.body.count == 4096)
        #expect(alert.headers["apns-push-type"] == "alert")
        #expect(alert.headers["apns-topic"] == "com.example.app")
    }

    @Test(
        arguments: [
            [], [("live_activity_token", ""), ("voip_token", "")],
            [("live_activity_token", "no token"), ("voip_token", String(repeating: "a", count: 65))],
        ] as [[(String, String)]],
        [#"{"content-state":{}}"#, #"{"push-type":"voip"}"#]
    )
    func deviceWithoutASpecialTokenGetsTheAlert(_ fields: [(String, String)], _ native: String) throws {
        let request = try request(sample(native), to: TransportFixture.device(fields))
        #expect(request.bodyText == #"{"aps":{"alert":{"title":"t","body":"b"}}}"#)
        #expect(request.headers["apns-push-type"] == "alert")
        #expect(request.headers["apns-collapse-id"] == "key")
        #expect(request.url.hasSuffix(TransportFixture.deviceToken))
    }

    @Test func startUsesThePushToStartToken() throws {
        let device = TransportFixture.device([("live_activity_token", OtherPushTypesTests.activityToken)])
        let start = sample(#"{"event":"start","content-state":{},"attributes-type":"A","attributes":{}}"#)
        #expect(try request(start, to: device).url.hasSuffix(OtherPushTypesTests.activityToken))
    }

    @Test func aStartWithoutATextIsRejected() throws {
        var start = sample(#"{"event":"start","content-state":{},"attributes-type":"A","attributes":{}}"#)
        start.title = ""
        start.body = ""
        #expect(try fixture.deliver(start, to: device) == .CARILLON_OK)
        #expect(fixture.host.outcomes.map(\.reason) == ["payload-empty"])
    }

    @Test func liveActivityOmitsTheAppsOwnKeys() throws {
        var sample = sample(#"{"content-state":{"a":1},"badge":1,"category":"c","thread-id":"x","mutable-content":1}"#)
        sample.category = "kind_7"
        sample.data = #"{"event_id":"x"}"#
        sample.url = "app://x"
        #expect(
            try request(sample).bodyText
                == #"{"aps":{"event":"update","timestamp":1770000000,"content-state":{"a":1}}}"#
        )
    }

    @Test(arguments: [
        (#"{"content-state":{}}"#, carillon_outcome_kind.CARILLON_REJECTED), ("{}", .CARILLON_MISCONFIGURED),
    ])
    func refusedTopicOfOneRulePausesNoOthers(_ native: String, _ kind: carillon_outcome_kind) throws {
        _ = try request(sample(native))
        fixture.refuse(400, "TopicDisallowed")
        #expect(fixture.host.outcomes.map(\.kind) == [kind])
        #expect(fixture.host.outcomes.map(\.reason) == ["topic-disallowed"])
    }

    /// A forbidden topic may concern only one push type. A bad key concerns all.
    @Test(
        arguments: [
            ("Forbidden", .CARILLON_REJECTED), ("SomethingNew", .CARILLON_REJECTED),
            ("InvalidProviderToken", .CARILLON_MISCONFIGURED),
        ] as [(String, carillon_outcome_kind)]
    )
    func onlyABadKeyPausesAllPushTypes(_ reason: String, _ kind: carillon_outcome_kind) throws {
        _ = try request(sample(#"{"content-state":{}}"#))
        fixture.refuse(403, reason)
        #expect(fixture.host.outcomes.map(\.kind) == [kind])
    }

    @Test(arguments: DeviceTokens.fields.map(\.description))
    func aRegistrationsTokensAreChecked(_ name: String) throws {
        let refusal = { fixture.refusal(of: TransportFixture.device([(name, $0), ("mdm_push_magic", "magic")])) }
        #expect(refusal("") == nil)
        #expect(refusal(OtherPushTypesTests.activityToken) == nil)
        let error = try #require(refusal("SECRET"))
        #expect(error.hasPrefix("\(name): expected an even number of hex digits") && !error.contains("SECRET"))
    }
}

/// Pushes for device management, which only certificates may send.
struct ManagedDeviceTests {
    private static let token = String(repeating: "d4", count: 32)

    private func device(magic: String?) -> SampleRegistration {
        TransportFixture.device([("mdm_token", Self.token)] + (magic.map { [("mdm_push_magic", $0)] } ?? []))
    }

    private var sample: SampleNotification {
        var sample = SampleNotification.alert(title: "t", body: "b")
        sample.data = #"{"k":"v"}"#
        sample.native = #"{"push-type":"mdm"}"#
        return sample
    }

    @Test func mdmPushContainsOnlyThePushMagic() throws {
        let fixture = try TransportFixture(certificate: "universal.pem")
        _ = try fixture.deliver(sample, to: device(magic: "\"magic\""))
        let request = try #require(fixture.host.requests.first)
        #expect(request.bodyText == #"{"mdm":"\"magic\""}"#)
        #expect(request.url.hasSuffix(Self.token))
        #expect(request.headers["apns-topic"] == "com.example.app")
        #expect(request.headers["apns-push-type"] == "mdm")
        #expect(request.headers["apns-priority"] == "10")
    }

    @Test func providerTokensManageNoDevices() throws {
        let fixture = try TransportFixture()
        _ = try fixture.deliver(sample, to: device(magic: "magic"))
        #expect(fixture.host.requests.first?.headers["apns-push-type"] == "alert")
        #expect(fixture.host.log.count == 1)
    }

    @Test func theMagicIsCheckedWhenADeviceRegisters() throws {
        let fixture = try TransportFixture(certificate: "universal.pem")
        #expect(fixture.refusal(of: device(magic: "magic")) == nil)
        for magic in [nil, "", String(repeating: "m", count: 257)] {
            let refusal = fixture.refusal(of: device(magic: magic))
            #expect(refusal?.hasPrefix("mdm_push_magic: expected the device's push magic") == true)
            _ = try fixture.deliver(sample, to: device(magic: magic))
            #expect(fixture.host.requests.last?.headers["apns-push-type"] == "alert")
        }
    }
}
