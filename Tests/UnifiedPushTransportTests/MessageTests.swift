import CarillonABI
import Foundation
import PluginTestSupport
import Testing

@testable import UnifiedPushTransport

struct MessageTests {
    private let fixture: TransportFixture

    init() throws {
        fixture = try TransportFixture()
    }

    private func body(_ sample: SampleNotification) throws -> String {
        #expect(try fixture.deliver(sample, to: fixture.plain) == .CARILLON_OK)
        return try #require(fixture.host.requests.last).bodyText
    }

    private func refusal(_ sample: SampleNotification) throws -> String {
        #expect(try fixture.deliver(sample, to: fixture.plain) == .CARILLON_OK)
        #expect(fixture.host.requests.isEmpty)
        #expect(fixture.host.outcomes.map(\.kind) == [.CARILLON_REJECTED])
        return try #require(fixture.host.outcomes.first).reason
    }

    /// Seed 004 section 2.
    @Test func wakeUpShowsNoDetails() throws {
        var sample = SampleNotification.alert(title: "secret", body: "secret")
        sample.mode = .CARILLON_WAKE
        sample.signal = "dm"
        sample.data = #"{"secret":1}"#
        #expect(try body(sample) == #"{"t":"dm"}"#)
        sample.count = 7
        #expect(try body(sample) == #"{"t":"batch","n":7}"#)
    }

    @Test func nudgeAddsTheNeutralTexts() throws {
        var sample = SampleNotification.nudge("dm", title: "New notification", body: "Open the app")
        #expect(try body(sample) == #"{"t":"dm","title":"New notification","body":"Open the app"}"#)
        sample.url = "app://inbox"
        sample.category = "news"
        sample.data = #"{"inbox":1}"#
        sample.native = #"{"more":1}"#
        let dressed =
            #"{"t":"dm","title":"New notification","body":"Open the app","category":"news","#
            + #""url":"app://inbox","inbox":1,"more":1}"#
        #expect(try body(sample) == dressed)
        sample = .nudge("dm", title: "7 new notifications", count: 7)
        #expect(try body(sample) == #"{"t":"batch","n":7,"title":"7 new notifications"}"#)
    }

    @Test func alertContainsTheFullNotification() throws {
        var sample = SampleNotification.alert(title: "⚡ alice liked your note", body: "❤️")
        sample.subtitle = "s"
        sample.category = "kind_7"
        sample.thread = "original789..."
        sample.url = "nostr:abc"
        sample.actions = [.init(id: "reply", label: "Reply", url: "app://reply"), .init(id: "mute", label: "Mute")]
        sample.data = #"{"event_id":"abc123...","kind":7}"#
        let expected = """
            {"t":"reaction","id":"\(sample.id)","title":"⚡ alice liked your note","subtitle":"s","body":"❤️",
             "category":"kind_7","thread":"original789...","url":"nostr:abc",
             "actions":[{"id":"reply","label":"Reply","url":"app://reply"},{"id":"mute","label":"Mute"}],
             "event_id":"abc123...","kind":7}
            """
        #expect(try isSameJSON(body(sample), expected))
    }

    @Test func rulesBlockOverridesDataAndDataOverridesOurs() throws {
        var sample = SampleNotification.alert(title: "ours", body: "ours")
        sample.id = ""
        sample.count = 3
        sample.data = #"{"title":"data","b\u006fdy":"data","t":"data","x":1}"#
        sample.native = #"{"body":"native","n":9}"#
        #expect(try isSameJSON(body(sample), #"{"title":"data","t":"data","x":1,"body":"native","n":9}"#))
    }

    @Test(arguments: [
        ("[]", "", "bad-data"), (#"{"a":1"#, "", "bad-data"), ("", "7", "bad-native"),
        ("", #"{"a":1,"a":2}"#, "bad-native"),
    ])
    func invalidDataOrNativeBlockIsRejected(_ data: String, _ native: String, _ reason: String) throws {
        var sample = SampleNotification.alert(title: "t", body: "b")
        sample.data = data
        sample.native = native
        #expect(try refusal(sample) == reason)
    }

    @Test func longBodyIsShortenedToThePushServersLimit() throws {
        let sample = SampleNotification.alert(title: "title", body: String(repeating: "é", count: 5000))
        let plain = try body(sample)
        #expect((4090...4096).contains(plain.utf8.count))
        #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(plain.utf8)) }
        #expect(try fixture.deliver(sample, to: fixture.encrypted) == .CARILLON_OK)
        let request = try #require(fixture.host.requests.last)
        #expect((4090...4096).contains(request.body.count))
        let decrypted = try fixture.decrypt(request)
        #expect((3987...3993).contains(decrypted.utf8.count))
        #expect(decrypted.hasSuffix("…\"}"))
    }

    @Test func referencedNoteIsShortenedFirstAndButtonsNever() throws {
        var sample = SampleNotification.alert(title: "title", body: "body")
        sample.subtitle = "subtitle"
        sample.actions = [.init(id: "a", label: "A")]
        sample.data = #"{"referenced_event_content":"\#(String(repeating: "x", count: 5000))","kind":7}"#
        let message = try body(sample)
        #expect(message.utf8.count == 4096)
        #expect(message.hasSuffix(#"…","kind":7}"#))
        #expect(message.contains(#""subtitle":"subtitle","body":"body","actions":[{"id":"a","label":"A"}]"#))
    }

    @Test func messageThatCannotBeShortenedIsRejectedBeforeSending() throws {
        var sample = SampleNotification.alert(title: "t", body: "b")
        sample.data = #"{"x":"\#(String(repeating: "x", count: 4096))"}"#
        #expect(try refusal(sample) == "payload-too-large")
    }

    @Test func hostileTextStaysText() throws {
        var sample = SampleNotification.alert(title: "\"},{\"t\":\"x", body: "\u{0}\u{1F}\u{2028}\\\"\n")
        sample.signal = "\"\\\u{1}"
        let object = try #require(try JSONSerialization.jsonObject(with: Data(body(sample).utf8)) as? [String: String])
        #expect(object == ["t": sample.signal, "id": sample.id, "title": sample.title, "body": sample.body])
        sample.titleBytes = [0xFF, 0xC3, 0x28, 0x22]
        let repaired = try body(sample)
        #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(repaired.utf8)) }
    }
}
