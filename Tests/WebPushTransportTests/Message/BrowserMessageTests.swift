import CarillonABI
import Foundation
import PluginTestSupport
import Testing

@testable import WebPushTransport

struct BrowserMessageTests {
    private func message(_ sample: SampleNotification, _ fixture: TransportFixture? = nil) throws -> String {
        let fixture = try fixture ?? TransportFixture()
        #expect(try fixture.deliver(sample) == .CARILLON_OK)
        return try fixture.decrypt(#require(fixture.host.requests.last))
    }

    private func refusal(_ sample: SampleNotification) throws -> String {
        let fixture = try TransportFixture()
        #expect(try fixture.deliver(sample) == .CARILLON_OK)
        #expect(fixture.host.requests.isEmpty)
        #expect(fixture.host.outcomes.map(\.kind) == [.CARILLON_REJECTED])
        return try #require(fixture.host.outcomes.first).reason
    }

    private func isDeclarative(_ sample: SampleNotification) throws -> Bool {
        try message(sample).hasPrefix(#"{"web_push":8030,"#)
    }

    private static var like: SampleNotification {
        var sample = SampleNotification.alert(title: "⚡ alice liked your note", body: "❤️")
        sample.subtitle = "s"
        sample.category = "kind_7"
        sample.thread = "original789"
        sample.collapseKey = "likes-of-original789"
        sample.url = "nostr:original789"
        sample.actions = [
            .init(id: "reply", label: "Reply", url: "app://reply/1", icon: "arrowshape.turn.up.left"),
            .init(id: "mute", label: "Mute", icon: "https://app.example.com/mute.png"),
        ]
        sample.data = #"{"event_id":"abc123","kind":7}"#
        return sample
    }

    /// Seed 004 section 2.
    @Test func wakeUpShowsNoDetails() throws {
        var sample = Self.like
        sample.mode = .CARILLON_WAKE
        #expect(try message(sample) == #"{"t":"reaction"}"#)
        sample.count = 7
        #expect(try message(sample) == #"{"t":"batch","n":7}"#)
    }

    @Test func nudgeHasOnlyTheNeutralTexts() throws {
        var sample = Self.like
        sample.mode = .CARILLON_NUDGE
        sample.title = "New notification"
        sample.body = ""
        sample.subtitle = ""
        sample.url = ""
        sample.actions = []
        sample.data = ""
        sample.collapseKey = ""
        sample.category = ""
        sample.thread = ""
        #expect(try message(sample) == #"{"t":"reaction","notification":{"title":"New notification"}}"#)
        sample.count = 7
        let declared = try message(sample, TransportFixture(#""navigate":"https://app.example.com/""#))
        let expected = """
            {"web_push":8030,"t":"batch","n":7,
             "notification":{"title":"New notification","navigate":"https://app.example.com/"}}
            """
        #expect(try isSameJSON(declared, expected))
    }

    /// The operator's settings for every event.
    @Test func nudgePresentationFollowsTheConfiguration() throws {
        var sample = SampleNotification.nudge("dm", title: "New notification")
        sample.category = "news"
        sample.url = "https://app.example.com/inbox"
        sample.native = #"{"silent":true,"declarative":false}"#
        let expected = """
            {"t":"dm","notification":{"title":"New notification","navigate":"https://app.example.com/inbox",
              "silent":true,"data":{"t":"dm","category":"news","url":"https://app.example.com/inbox"}}}
            """
        let body = try message(sample)
        #expect(try isSameJSON(body, expected), "\(body)")
    }

    /// The members of the WebKit explainer "Declarative Web Push" and W3C's Push API.
    @Test func anAlertThatOpensSomethingIsDeclarative() throws {
        var sample = Self.like
        sample.native = """
            {"lang":"en","dir":"auto","icon":"https://app.example.com/i.png","renotify":true,"vibrate":[1,2],
             "mutable":true,"app_badge":3,"topic":"x","ttl":60,"urgency":"high"}
            """
        let expected = """
            {"web_push":8030,"t":"reaction","mutable":true,"app_badge":3,
             "notification":{
              "title":"⚡ alice liked your note","body":"❤️","navigate":"nostr:original789","tag":"likes-of-original789",
              "lang":"en","dir":"auto","icon":"https://app.example.com/i.png","renotify":true,"vibrate":[1,2],"app_badge":3,
              "actions":[{"action":"reply","title":"Reply","navigate":"app://reply/1"},
               {"action":"mute","title":"Mute","navigate":"nostr:original789","icon":"https://app.example.com/mute.png"}],
              "data":{"t":"reaction","id":"\(sample.id)","subtitle":"s","category":"kind_7","thread":"original789",
               "url":"nostr:original789","actions":[
                {"id":"reply","label":"Reply","url":"app://reply/1","icon":"arrowshape.turn.up.left"},
                {"id":"mute","label":"Mute","icon":"https://app.example.com/mute.png"}],
               "event_id":"abc123","kind":7}}}
            """
        #expect(try isSameJSON(message(sample), expected))
    }

    @Test func alertWithoutAURLIsForTheServiceWorker() throws {
        var sample = SampleNotification.alert(title: "t", body: "b")
        sample.actions = [.init(id: "a", label: "A"), .init(id: "b", label: "B", url: "/b")]
        sample.native = #"{"mutable":true,"app_badge":3,"navigate":null}"#
        let expected = """
            {"t":"reaction","app_badge":3,"notification":{"title":"t","body":"b",
             "actions":[{"action":"a","title":"A"},{"action":"b","title":"B","navigate":"/b"}],
             "data":{"t":"reaction","id":"\(sample.id)",
              "actions":[{"id":"a","label":"A"},{"id":"b","label":"B","url":"/b"}]}}}
            """
        #expect(try isSameJSON(message(sample), expected))
    }

    @Test func messageBrowsersWouldRefuseIsNotDeclarative() throws {
        #expect(try isDeclarative(Self.like))
        var sample = Self.like
        sample.native = #"{"declarative":false}"#
        #expect(try !isDeclarative(sample))
        sample = Self.like
        sample.title = ""
        #expect(try !isDeclarative(sample))
        sample.native = #"{"title":"of the block"}"#
        #expect(try isDeclarative(sample))
        sample = Self.like
        sample.url = "/relative"
        #expect(try !isDeclarative(sample))
        sample.native = #"{"navigate":"https://app.example.com/"}"#
        #expect(try isDeclarative(sample))
        sample = Self.like
        sample.actions[0].url = "relative"
        #expect(try !isDeclarative(sample))
    }

    @Test func urlComesFromBlockThenNotificationThenConfiguration() throws {
        let home = #""navigate":"https://home.example/""#
        var sample = SampleNotification.alert(title: "t", body: "b")
        #expect(try message(sample, TransportFixture(home)).contains(#""navigate":"https://home.example/""#))
        sample.url = "https://rule.example/"
        #expect(try message(sample, TransportFixture(home)).contains(#""navigate":"https://rule.example/""#))
        sample.native = #"{"navigate":"https://block.example/"}"#
        let message = try message(sample, TransportFixture(home))
        #expect(message.contains(#""navigate":"https://block.example/""#))
        #expect(message.contains(#""url":"https://rule.example/""#))
    }

    @Test func nativeBlockOverridesOurValues() throws {
        var sample = Self.like
        sample.native = #"{"title":"T","body":"B","tag":"G","actions":[],"data":{"x":1}}"#
        let expected = """
            {"web_push":8030,"t":"reaction","notification":{"title":"T","body":"B","tag":"G","actions":[],"data":{"x":1},
             "navigate":"nostr:original789"}}
            """
        #expect(try isSameJSON(message(sample), expected))
    }

    @Test func sealedBodiesHaveOneSize() throws {
        let fixture = try TransportFixture()
        var sample = Self.like
        sample.mode = .CARILLON_SEALED
        for length in [0, 1, 40, 800, 5000] {
            sample.body = String(repeating: "é", count: length)
            #expect(try message(sample, fixture).contains(#""title":"⚡ alice liked your note""#))
        }
        #expect(Set(fixture.host.requests.map(\.body.count)) == [2048 + 103])
        #expect(fixture.host.requests.allSatisfy { $0.headers["topic"] == nil })
    }

    @Test func hostEncryptedPayloadIsPassedOn() throws {
        let envelope = #"{"v":1,"alg":"nip44","from":"ab","ct":"AAAA"}"#
        let sample = SampleNotification.envelope(envelope, title: "New notification")
        #expect(try message(sample) == #"{"sealed":\#(envelope)}"#)
        let declared = try message(sample, TransportFixture(#""navigate":"https://app.example.com/""#))
        let expected = """
            {"web_push":8030,"mutable":true,"notification":{"title":"New notification",
             "navigate":"https://app.example.com/","data":{"sealed":\(envelope)}}}
            """
        #expect(try isSameJSON(declared, expected))
    }

    @Test func tooLongMessageIsShortenedToOneRecord() throws {
        let fixture = try TransportFixture()
        var sample = Self.like
        sample.body = String(repeating: "\"é", count: 3000)
        sample.data = #"{"referenced_event_content":"\#(String(repeating: "x", count: 3000))"}"#
        let message = try message(sample, fixture)
        #expect((3980...3993).contains(message.utf8.count))
        #expect(!message.contains("referenced_event_content"))
        #expect(message.contains(#""action":"mute""#))
        #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(message.utf8)) }
        #expect(try #require(fixture.host.requests.last).body.count <= 4096)
    }

    @Test(arguments: [
        ("[]", "", "bad-data"), ("", "7", "bad-native"), ("", #"{"a":1,"a":2}"#, "bad-native"),
        ("", #"{"declarative":"yes"}"#, "bad-native"), ("", #"{"ttl":"soon"}"#, "bad-native"),
        ("", #"{"urgency":"extreme"}"#, "bad-native"), ("", #"{"app_badge":[]}"#, "bad-native"),
    ])
    func invalidDataOrNativeBlockIsRejected(_ data: String, _ native: String, _ reason: String) throws {
        var sample = Self.like
        sample.data = data
        sample.native = native
        #expect(try refusal(sample) == reason)
    }

    @Test func messageThatCannotBeShortenedIsRejectedBeforeSending() throws {
        var sample = Self.like
        sample.data = #"{"x":"\#(String(repeating: "x", count: 4000))"}"#
        #expect(try refusal(sample) == "payload-too-large")
        #expect(
            try refusal(.envelope(#"{"ct":"\#(String(repeating: "A", count: 4000))"}"#, title: "t"))
                == "payload-too-large"
        )
    }

    /// A rule may take a button's picture from a tag of an unknown author.
    @Test(arguments: ["javascript:alert(1)", "data:text/html,x", "nostr:note1", "cart.fill", "/a.png"])
    func buttonImageMustBeAWebURL(_ icon: String) throws {
        var sample = SampleNotification.alert(title: "t", body: "b")
        sample.actions = [.init(id: "a", label: "A", icon: icon)]
        let object = try JSONSerialization.jsonObject(with: Data(message(sample).utf8)) as? [String: Any]
        let notification = try #require(object?["notification"] as? [String: Any])
        #expect(notification["actions"] as? [[String: String]] == [["action": "a", "title": "A"]])
    }

    @Test func hostileTextStaysText() throws {
        let hostile = "\"},\"web_push\":8030,{\"\u{0}\u{1F}\u{2028}\\\r\n"
        var sample = SampleNotification.alert(title: hostile, body: hostile)
        sample.signal = hostile
        sample.subtitle = hostile
        sample.thread = hostile
        sample.collapseKey = hostile
        sample.url = hostile
        sample.actions = [.init(id: hostile, label: hostile, url: hostile, icon: hostile)]
        let object = try JSONSerialization.jsonObject(with: Data(message(sample).utf8)) as? [String: Any]
        #expect(object?.keys.sorted() == ["notification", "t"])
        let notification = try #require(object?["notification"] as? [String: Any])
        #expect(notification["title"] as? String == hostile)
        #expect(notification["navigate"] as? String == hostile)
        #expect((notification["data"] as? [String: Any])?["thread"] as? String == hostile)
        sample.titleBytes = [0xFF, 0xC3, 0x28, 0x22]
        let repaired = try message(sample)
        #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(repaired.utf8)) }
    }
}
