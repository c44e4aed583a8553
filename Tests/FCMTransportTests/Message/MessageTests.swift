import CarillonABI
import Core
import PluginTestSupport
import Testing
import TimeTestSupport

@testable import FCMTransport

struct MessageTests {
    private let fixture: TransportFixture

    init() throws {
        fixture = try TransportFixture()
    }

    /// Returns the body, with the token replaced by `T`.
    private func body(_ sample: SampleNotification) throws -> String {
        let isFirst = fixture.host.requests.isEmpty
        #expect(try fixture.deliver(sample) == .CARILLON_OK)
        if isFirst { fixture.grant() }
        let text = try #require(fixture.host.requests.last).bodyText
        return text.replacing(TransportFixture.deviceToken, with: "T")
    }

    private func expect(_ sample: SampleNotification, _ message: String) throws {
        let body = try body(sample)
        #expect(try isSameJSON(body, #"{"message":{"token":"T",\#(message)}}"#), "\(body)")
    }

    private static let normal = #""android":{"priority":"NORMAL","ttl":"86400s"}"#
    private static let high = #""android":{"priority":"HIGH","ttl":"86400s"}"#

    @Test func aWakeIsDataOnly() throws {
        var sample = SampleNotification.wake("dm")
        try expect(sample, #""data":{"t":"dm"},\#(Self.normal)"#)
        sample.urgency = .CARILLON_HIGH
        try expect(sample, #""data":{"t":"dm"},\#(Self.high)"#)
        try expect(.wake("dm", count: 7), #""data":{"t":"batch","n":"7"},\#(Self.normal)"#)
    }

    /// The app must support this.
    @Test func directBootDeliveryIsConfigurable() throws {
        let fixture = try TransportFixture(["direct_boot_ok": true])
        var samples = [SampleNotification.wake("dm"), .nudge("dm", title: "t"), .envelope(#"{"v":1}"#, title: "t")]
        samples.append(.alert(title: "t", body: "b"))
        for sample in samples {
            try fixture.deliver(sample)
        }
        fixture.grant()
        let bodies = fixture.host.requests.dropFirst().map(\.bodyText)
        #expect(bodies.count == 4)
        #expect(bodies.allSatisfy { $0.contains(#""directBootOk":true"#) })
        let ruled = SampleNotification.alert(title: "t", body: "b", native: #"{"directBootOk":false}"#)
        try fixture.deliver(ruled)
        let body = try #require(fixture.host.requests.last).bodyText
        #expect(body.contains(#""directBootOk":false"#) && !body.contains(#""directBootOk":true"#))
    }

    @Test func aNudgeShowsNeutralTexts() throws {
        var sample = SampleNotification.nudge("dm", title: "New notification", body: "Open the app")
        let shown = #""notification":{"title":"New notification","body":"Open the app"},"data":{"t":"dm"}"#
        try expect(sample, "\(shown),\(Self.high)")
        sample.urgency = .CARILLON_LOW
        try expect(sample, "\(shown),\(Self.normal)")
        sample.count = 3
        sample.body = ""
        try expect(sample, #""notification":{"title":"New notification"},"data":{"t":"batch","n":"3"},\#(Self.normal)"#)
    }

    @Test func aSealedMessageIsTheEnvelopeAsText() throws {
        let envelope = #"{"v":1,"alg":"nip44","from":"ab","ct":"cd+/="}"#
        var sample = SampleNotification.envelope(envelope, title: "New notification", body: "neutral")
        sample.urgency = .CARILLON_LOW
        try expect(
            sample,
            #""data":{"sealed":"{\"v\":1,\"alg\":\"nip44\",\"from\":\"ab\",\"ct\":\"cd+/=\"}"},\#(Self.normal)"#
        )
    }

    @Test func anAlertHandsEverythingToTheApp() throws {
        var sample = SampleNotification.alert(title: "Title \"quoted\"", body: "Body\nof two lines")
        sample.subtitle = "Subtitle"
        sample.category = "kind_7"
        sample.thread = "thread"
        sample.url = "https://example.com/e"
        sample.actions = [
            .init(id: "reply", label: "Reply"), .init(id: "open", label: "Open", url: "https://e.com", icon: "arrow"),
        ]
        sample.data = #"{"kind":7,"deep":{"a":[1,"x"]},"yes":true,"none":null,"text":"t\u00e9xt"}"#
        try expect(
            sample,
            #"""
            "data":{"t":"reaction","id":"6c0f5f4e-9f4e-4c57-8c2e-0a1b2c3d4e5f","title":"Title \"quoted\"",
            "subtitle":"Subtitle","body":"Body\nof two lines","category":"kind_7","thread":"thread",
            "url":"https://example.com/e",
            "actions":"[{\"id\":\"reply\",\"label\":\"Reply\"},{\"id\":\"open\",\"label\":\"Open\",\"url\":\"https://e.com\",\"icon\":\"arrow\"}]",
            "kind":"7","deep":"{\"a\":[1,\"x\"]}","yes":"true","text":"téxt"},\#(Self.high)
            """#
        )
    }

    @Test func theRulesBlockIsMergedLast() throws {
        var sample = SampleNotification.alert(title: "t", body: "b")
        sample.id = ""
        sample.signal = "zap"
        sample.collapseKey = "ours"
        sample.native = """
            {"priority":"NORMAL","ttl":"60s","collapseKey":"theirs","directBootOk":true,
            "restrictedPackageName":"com.example.app","fcmOptions":{"analyticsLabel":"label"}}
            """
        try expect(
            sample,
            """
            "data":{"t":"zap","title":"t","body":"b"},
            "android":{"priority":"NORMAL","ttl":"60s","collapseKey":"theirs","directBootOk":true,
            "restrictedPackageName":"com.example.app","fcmOptions":{"analyticsLabel":"label"}}
            """
        )
    }

    @Test func dataNeverComesIntoTheAndroidConfig() throws {
        var sample = SampleNotification.alert(title: "t", body: "b")
        sample.id = ""
        sample.native = #"{"data":{"a":"b"}}"#
        try expect(sample, #""data":{"t":"reaction","title":"t","body":"b"},\#(Self.high)"#)
    }

    @Test func fcmShowsTheNotificationIfTheBlockRequestsIt() throws {
        var sample = SampleNotification.alert(title: "t", body: "b")
        sample.id = "id"
        sample.subtitle = "s"
        sample.collapseKey = "key"
        sample.data = #"{"k":"v"}"#
        sample.native =
            ##"{"style":"notification","notification":{"channelId":"c","image":"https://i","color":"#102030"}}"##
        try expect(
            sample,
            """
            "notification":{"title":"t","body":"b"},"data":{"t":"reaction","id":"id","subtitle":"s","k":"v"},
            "android":{"priority":"HIGH","ttl":"86400s","collapseKey":"key",
            "notification":{"tag":"key","channelId":"c","image":"https://i","color":"#102030"}}
            """
        )
    }

    @Test func localizationKeyReplacesItsText() throws {
        var sample = SampleNotification.alert(title: "⚡ bob liked", body: "b")
        sample.id = ""
        sample.native =
            #"{"style":"notification","notification":{"titleLocKey":"LIKED","titleLocArgs":["bob"],"tag":"x"}}"#
        sample.collapseKey = "key"
        try expect(
            sample,
            """
            "notification":{"body":"b"},"data":{"t":"reaction"},
            "android":{"priority":"HIGH","ttl":"86400s","collapseKey":"key",
            "notification":{"titleLocKey":"LIKED","titleLocArgs":["bob"],"tag":"x"}}
            """
        )
    }

    @Test func appThatShowsItselfGetsTheBlocksTexts() throws {
        var sample = SampleNotification.alert(title: "⚡ bob liked", body: "b")
        sample.id = ""
        sample.data = #"{"image":"ours","k":"v"}"#
        sample.native =
            #"{"notification":{"titleLocKey":"LIKED","titleLocArgs":["bob"],"image":"theirs","body":"other","sticky":true}}"#
        try expect(
            sample,
            """
            "data":{"t":"reaction","title":"⚡ bob liked","k":"v","titleLocKey":"LIKED","titleLocArgs":"[\\"bob\\"]",
            "image":"theirs","body":"other","sticky":"true"},\(Self.high)
            """
        )
    }

    @Test func reservedNamesAreSentWithAnUnderscore() throws {
        var sample = SampleNotification.alert(title: "", body: "")
        sample.id = ""
        sample.data = """
            {"from":"a","message_type":"b","google.c":"c","gcmx":4,"collapse_key":"e","_from":"kept","notification":"f",
            "fr\\u006fm_":"g","Google":"h"}
            """
        try expect(
            sample,
            """
            "data":{"t":"reaction","_message_type":"b","_google.c":"c","_gcmx":"4","_collapse_key":"e","_from":"kept",
            "notification":"f","from_":"g","Google":"h"},\(Self.high)
            """
        )
    }

    @Test(
        arguments: [
            (0, "86400s"), (1_770_000_060_999, "60s"), (1_770_000_000_000, "0s"), (5, "0s"), (UInt64.max, "2419200s"),
        ] as [(UInt64, String)]
    )
    func ttlMatchesTheNotificationsExpiry(_ expiresAt: UInt64, _ lifetime: String) throws {
        var sample = SampleNotification.wake("dm")
        sample.expiresAt = expiresAt
        try expect(sample, #""data":{"t":"dm"},"android":{"priority":"NORMAL","ttl":"\#(lifetime)"}"#)
    }

    @Test func collapseKeysAreShortAndPlain() throws {
        var sample = SampleNotification.alert(title: "t", body: "b")
        sample.collapseKey = String(repeating: "k", count: 64)
        #expect(try body(sample).contains(#""collapseKey":"\#(sample.collapseKey)""#))
        for key in [String(repeating: "k", count: 65), "ключ", "a b"] {
            sample.collapseKey = key
            let body = try body(sample)
            #expect(!body.contains(key))
            #expect(body.firstMatch(of: /"collapseKey":"[A-Za-z0-9_-]{43}"/) != nil)
        }
    }

    @Test(
        arguments: [
            (#"[1]"#, "", "bad-data"), ("{", "", "bad-data"), ("", "[]", "bad-native"),
            ("", #"{"notification":7}"#, "bad-native"), ("", #"{"style":"notification"}"#, "payload-empty"),
        ]
    )
    func invalidDataIsRejected(_ data: String, _ native: String, _ reason: String) throws {
        var sample = SampleNotification.alert(title: "", body: "")
        sample.data = data
        sample.native = native
        #expect(try fixture.deliver(sample) == .CARILLON_OK)
        #expect(fixture.host.outcomes == [RecordedOutcome(ticket: 1, kind: .CARILLON_REJECTED, reason: reason)])
    }

    /// All values that an operator may set for every event.
    @Test func nudgePresentationFollowsTheConfiguration() throws {
        var sample = SampleNotification.nudge("dm", title: "New notification")
        sample.category = "news"
        sample.url = "app://inbox"
        sample.collapseKey = "inbox"
        sample.data = #"{"inbox":true}"#
        sample.native = #"{"priority":"NORMAL","notification":{"channelId":"quiet"}}"#
        try expect(
            sample,
            #""notification":{"title":"New notification"},"#
                + #""data":{"t":"dm","category":"news","url":"app://inbox","inbox":"true"},"#
                + #""android":{"priority":"NORMAL","ttl":"86400s","collapseKey":"inbox","#
                + #""notification":{"tag":"inbox","channelId":"quiet"}}"#
        )
        sample.native = #"{"style":"data"}"#
        #expect(try !body(sample).contains(#""notification":"#))
        sample.mode = .CARILLON_SEALED
        sample.sealed = #"{"v":1}"#
        sample.native = #"{"style":"notification","priority":"NORMAL","notification":{"channelId":"quiet"}}"#
        try expect(sample, #""data":{"sealed":"{\"v\":1}"},\#(Self.normal)"#)
    }

    /// Even if a sender fills the values that only alerts and nudges may show.
    @Test(arguments: [carillon_mode.CARILLON_WAKE, .CARILLON_SEALED])
    func wakeUpsAndEnvelopesShowNoText(_ mode: carillon_mode) throws {
        var sample = SampleNotification.alert(title: "New notification", body: "neutral")
        sample.mode = mode
        sample.sealed = mode == .CARILLON_SEALED ? #"{"v":1}"# : ""
        sample.subtitle = "LEAK"
        sample.category = "LEAK"
        sample.thread = "LEAK"
        sample.collapseKey = "LEAK"
        sample.url = "https://LEAK"
        sample.id = "LEAK"
        sample.actions = [.init(id: "LEAK", label: "LEAK")]
        sample.data = #"{"k":"LEAK"}"#
        sample.native = #"{"style":"notification","notification":{"title":"LEAK"}}"#
        #expect(!(try body(sample)).contains("LEAK"))
    }

    /// The message of an event for many devices is made once. Each has its own token, id and remaining lifetime.
    @Test func sharedMessageIsAddressedToEachDevice() throws {
        var sample = SampleNotification.alert(title: "Bob", body: #"A "note" for many"#)
        sample.data = #"{"event_id":"00ff"}"#
        for (number, native) in ["", #"{"style":"notification","collapseKey":"k"}"#, #"{"ttl":"60s"}"#].enumerated() {
            let fixture = try TransportFixture()
            let end = fixture.clock.now() + .seconds(600)
            sample.native = native
            sample.expiresAt = UInt64(end.milliseconds)
            for place in 0..<4 {
                var one = sample
                one.id = "6c0f5f4e-9f4e-4c57-8c2e-00000000000\(place)"
                let token = TransportFixture.deviceToken + "\(place)"
                let registration = SampleRegistration(token: token)
                #expect(try fixture.deliver(one, to: registration, ticket: UInt64(place + 1)) == .CARILLON_OK)
                if place == 0 { fixture.grant() }
                // A message made only for this device, by a transport without other devices.
                let alone = try TransportFixture()
                alone.clock.advance(by: .seconds(100 * place))
                try alone.deliver(one, to: registration)
                alone.grant()
                let (body, expected) = try (
                    #require(fixture.host.requests.last).bodyText, #require(alone.host.requests.last).bodyText
                )
                #expect(body == expected)
                #expect(body.contains(one.id) && body.contains(token))
                let lifetime = number == 2 ? 60 : 600 - 100 * place
                #expect(body.contains(#""ttl":"\#(lifetime)s""#))
                fixture.clock.advance(by: .seconds(100))
            }
        }
    }

}
