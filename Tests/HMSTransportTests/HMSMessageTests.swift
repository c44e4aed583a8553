import CarillonABI
import Foundation
import PluginKit
import PluginTestSupport
import Testing
import TimeTestSupport
import Units

@testable import HMSTransport

struct HMSMessageTests {
    private let fixture: TransportFixture

    init() throws {
        fixture = try TransportFixture()
    }

    private func message(_ sample: SampleNotification, on fixture: TransportFixture) throws -> [String: Any] {
        let isFirst = fixture.host.requests.isEmpty
        try #require(try fixture.deliver(sample) == .CARILLON_OK)
        if isFirst { fixture.grant() }
        let request = try #require(fixture.host.requests.last)
        let body = try JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any]
        return try #require(body?["message"] as? [String: Any])
    }

    private func expect(
        _ sample: SampleNotification,
        data: String?,
        android: String = #"{"ttl":"86400s"}"#,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let message = try message(sample, on: fixture)
        let text = message["data"] as? String
        if let data {
            #expect(try isSameJSON(text ?? "", data), "\(text ?? "")", sourceLocation: sourceLocation)
        } else {
            #expect(text == nil, sourceLocation: sourceLocation)
        }
        let found = String(
            decoding: try JSONSerialization.data(withJSONObject: message["android"] ?? [:]),
            as: UTF8.self
        )
        #expect(try isSameJSON(found, android), "\(found)", sourceLocation: sourceLocation)
        #expect(message["token"] as? [String] == [TransportFixture.token], sourceLocation: sourceLocation)
    }

    @Test func aWakeIsDataOnly() throws {
        try expect(.wake("dm"), data: #"{"t":"dm"}"#)
        try expect(.wake("dm", count: 7), data: #"{"t":"batch","n":7}"#)
        var ruled = SampleNotification.wake("dm")
        ruled.native = #"{"style":"notification","notification":{"title":"x"}}"#
        try expect(ruled, data: #"{"t":"dm"}"#)
    }

    @Test func aNudgeShowsNeutralTexts() throws {
        var sample = SampleNotification.nudge("dm", title: "New message", body: "Open the app")
        let texts = #""title":"New message","body":"Open the app","click_action":{"type":3}"#
        try expect(sample, data: nil, android: #"{"ttl":"86400s","notification":{\#(texts)}}"#)
        sample.urgency = .CARILLON_LOW
        try expect(sample, data: nil, android: #"{"ttl":"86400s","notification":{\#(texts),"importance":"LOW"}}"#)
    }

    @Test func aSealedMessageIsTheEnvelope() throws {
        let envelope = #"{"v":1,"alg":"nip44","from":"ab","ct":"cd+/="}"#
        try expect(.envelope(envelope, title: "New message"), data: #"{"sealed":\#(envelope)}"#)
    }

    @Test func anAlertIsDataForTheApp() throws {
        var sample = SampleNotification.alert(title: "Alice", body: #"See "you" at noon"#)
        sample.signal = "dm"
        sample.subtitle = "s"
        sample.thread = "th"
        sample.category = "c"
        sample.url = "nostr:x"
        sample.actions = [.init(id: "a", label: "A")]
        sample.data = #"{"event_id":"e","kind":7,"url":"https://own.example"}"#
        sample.native = #"{"category":"IM","ttl":"60s","notification":{"tag":"x"}}"#
        try expect(
            sample,
            data: #"""
                {"t":"dm","id":"6c0f5f4e-9f4e-4c57-8c2e-0a1b2c3d4e5f","title":"Alice","subtitle":"s",
                "body":"See \"you\" at noon","category":"c","thread":"th","actions":[{"id":"a","label":"A"}],
                "event_id":"e","kind":7,"url":"https://own.example","tag":"x"}
                """#,
            android: #"{"category":"IM","ttl":"60s"}"#
        )
    }

    @Test func pushKitDrawsWhereTheRuleSaysSo() throws {
        var sample = SampleNotification.alert(title: "Alice", body: "Hello")
        sample.collapseKey = "two words"
        sample.url = "https://example.com/note"
        sample.native = #"{"style":"notification","notification":{"title_loc_key":"T","channel_id":"dm"}}"#
        let message = try message(sample, on: fixture)
        let android = try #require(message["android"] as? [String: Any])
        let shown = try #require(android["notification"] as? [String: Any])
        #expect(message["data"] == nil && android["style"] == nil)
        #expect(shown["title"] == nil && shown["title_loc_key"] as? String == "T")
        #expect(shown["body"] as? String == "Hello" && shown["channel_id"] as? String == "dm")
        #expect((shown["tag"] as? String)?.count == 43)
        let click = shown["click_action"] as? [String: Any]
        #expect(click?["type"] as? Int == 2 && click?["url"] as? String == "https://example.com/note")
    }

    @Test func highPriorityIsTheOperatorsToAllow() throws {
        var sample = SampleNotification.alert(title: "Alice", body: "Hello")
        sample.urgency = .CARILLON_HIGH
        let urgency = { (fixture: TransportFixture) in
            (try message(sample, on: fixture)["android"] as? [String: Any])?["urgency"] as? String
        }
        #expect(try urgency(fixture) == nil)
        let allowed = try TransportFixture(["high_priority": true])
        #expect(try urgency(allowed) == "HIGH")
        sample.urgency = .CARILLON_NORMAL
        #expect(try urgency(allowed) == nil)
    }

    @Test func livesAsLongAsTheNotification() throws {
        let start = UInt64(ManualClock.start.milliseconds)
        for (end, ttl) in [(start + 90_000, 90), (start + 86_400_000 * 40, 1_296_000), (start - 5000, 1)] {
            var sample = SampleNotification.wake("dm")
            sample.expiresAt = end
            try expect(sample, data: #"{"t":"dm"}"#, android: #"{"ttl":"\#(ttl)s"}"#)
        }
    }

    @Test func longTextsAreShortenedAndTheTokenDoesNotCount() throws {
        var sample = SampleNotification.alert(title: "Title", body: String(repeating: "\"é👍", count: 2000))
        sample.data = #"{"referenced_event_content":"\#(String(repeating: "x", count: 5000))"}"#
        let message = try message(sample, on: fixture)
        let data = try #require(message["data"] as? String)
        let object = try #require(try JSONSerialization.jsonObject(with: Data(data.utf8)) as? [String: Any])
        #expect((object["body"] as? String)?.hasSuffix("…") == true)
        #expect(object["referenced_event_content"] == nil && object["title"] as? String == "Title")
        let request = try #require(fixture.host.requests.last)
        let limit = HMSMessage.limit + TransportFixture.token.utf8.count + 20
        #expect((HMSMessage.limit - 1000...limit).contains(request.body.count))
        // Nothing of it can be shortened.
        let long = String(repeating: "x", count: 5000)
        try fixture.deliver(.envelope(#"{"ct":"\#(long)"}"#, title: "t"), ticket: 9)
        #expect(fixture.host.outcomes.map(\.reason) == ["payload-too-large"])
    }

    @Test func refusesWhatItCannotHonour() throws {
        #expect(try fixture.deliver(.envelope("", title: "t")) == .CARILLON_UNSUPPORTED)
        var unknown = SampleNotification.alert(title: "t", body: "b")
        unknown.mode = carillon_mode(rawValue: 9) ?? .CARILLON_WAKE
        #expect(try fixture.deliver(unknown) == .CARILLON_UNSUPPORTED)
        var empty = SampleNotification.alert(title: "", body: "")
        empty.native = #"{"style":"notification"}"#
        try fixture.deliver(empty, ticket: 2)
        var bad = SampleNotification.alert(title: "t", body: "b")
        bad.native = #"{"notification":7}"#
        try fixture.deliver(bad, ticket: 3)
        #expect(fixture.host.outcomes.map(\.reason) == ["payload-empty", "bad-native"])
        #expect(fixture.host.requests.isEmpty)
    }
}
