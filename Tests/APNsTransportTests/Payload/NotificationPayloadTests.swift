import CarillonABI
import Foundation
import PluginTestSupport
import Testing

struct NotificationPayloadTests {
    private func deliver(_ sample: SampleNotification) throws -> FakeHost {
        let fixture = try TransportFixture()
        #expect(try fixture.deliver(sample) == .CARILLON_OK)
        return fixture.host
    }

    private func payload(_ sample: SampleNotification) throws -> String {
        try #require(deliver(sample).requests.first).bodyText
    }

    private func refusal(_ sample: SampleNotification) throws -> RecordedOutcome {
        let host = try deliver(sample)
        #expect(host.requests.isEmpty)
        return try #require(host.outcomes.first)
    }

    @Test func unusableButtonsAreOmitted() throws {
        var sample = SampleNotification.alert(title: "t", body: "")
        sample.actions =
            [.init(id: "a", label: ""), .init(id: "", label: "b")]
            + (1...4).map { .init(id: "\($0)", label: "\($0)") }
        let expected = """
            {"aps":{"alert":{"title":"t"},"mutable-content":1},
             "body":{"_k":"\(sample.id)","action_buttons":[{"id":"1","label":"1"},{"id":"2","label":"2"},
             {"id":"3","label":"3"},{"id":"4","label":"4"}]}}
            """
        #expect(try isSameJSON(payload(sample), expected))
    }

    @Test func theRulesAlertReplacesOrAmendsOurs() throws {
        var sample = SampleNotification.alert(title: "t", body: "b", native: #"{"alert":"plain"}"#)
        #expect(try payload(sample) == #"{"aps":{"alert":"plain"}}"#)
        sample.native = #"{"\u0061lert":{"title":"theirs"}}"#
        #expect(try payload(sample) == #"{"aps":{"alert":{"title":"theirs","body":"b"}}}"#)
        sample.native = #"{"alert":{}}"#
        #expect(try payload(sample) == #"{"aps":{"alert":{"title":"t","body":"b"}}}"#)
    }

    @Test(
        arguments: [
            ("title-loc-key", #"{"subtitle":"s","body":"b","title-loc-key":"K"}"#),
            ("subtitle-loc-key", #"{"title":"t","body":"b","subtitle-loc-key":"K"}"#),
            ("loc-key", #"{"title":"t","subtitle":"s","loc-key":"K"}"#),
            ("launch-image", #"{"title":"t","subtitle":"s","body":"b","launch-image":"K"}"#),
        ]
    )
    func aTextThatTheAppLooksUpReplacesOurs(_ key: String, _ alert: String) throws {
        var sample = SampleNotification.alert(title: "t", body: "b")
        sample.subtitle = "s"
        sample.native = #"{"alert":{"\#(key)":"K"}}"#
        #expect(try payload(sample) == #"{"aps":{"alert":\#(alert)}}"#)
    }

    @Test func buttonsNeedAnAlertAndAnExtension() throws {
        var sample = SampleNotification()
        sample.actions = [.init(id: "1", label: "1")]
        sample.native = #"{"badge":1,"mutable-content":1}"#
        #expect(try payload(sample) == #"{"aps":{"badge":1}}"#)
        sample.title = "t"
        sample.native = #"{"mutable-content":0}"#
        #expect(try payload(sample).hasPrefix(#"{"aps":{"alert":{"title":"t"},"mutable-content":1},"body":{"#))
    }

    @Test func blocksNotificationNameReplacesItsID() throws {
        var sample = SampleNotification.alert(title: "t", body: "", native: #"{"_k":"theirs"}"#)
        #expect(try payload(sample) == #"{"aps":{"alert":{"title":"t"}},"body":{"_k":"theirs"}}"#)
        sample.native = #"{"actions":{}}"#
        #expect(try payload(sample) == #"{"aps":{"alert":{"title":"t"}},"body":{"_k":"\#(sample.id)","actions":{}}}"#)
    }

    @Test func aRulesBlockCanStandAlone() throws {
        var sample = SampleNotification()
        sample.native = #"{"badge":0}"#
        #expect(try payload(sample) == #"{"aps":{"badge":0}}"#)
    }

    @Test func noKeyIsWrittenTwice() throws {
        var sample = SampleNotification.alert(title: "t", body: "b")
        sample.category = "ours"
        sample.url = "app://ours"
        sample.data = #"{"category":"theirs","b\u006fdy":1}"#
        #expect(try payload(sample) == #"{"aps":{"alert":{"title":"t","body":"b"}},"category":"theirs","b\u006fdy":1}"#)
    }

    @Test(arguments: [
        (#"{"aps":{}}"#, "", "data-has-aps"), (#"{"\u0061ps":{}}"#, "", "data-has-aps"), ("[]", "", "bad-data"),
        (#"{"a":}"#, "", "bad-data"), (#"{"a":1}}"#, "", "bad-data"), ("", "{", "bad-native"), ("", "7", "bad-native"),
        ("", #"{"alert":{"a":1,"a":2}}"#, "bad-native"), ("", #"{"alert":null}"#, "bad-native"),
        ("", #"{"alert":["t"]}"#, "bad-native"), ("", #"{"push-type":"pigeon"}"#, "bad-native"),
        ("", #"{"push-type":7}"#, "bad-native"), ("", #"{"priority":7}"#, "bad-native"),
        ("", #"{"priority":99999999999999}"#, "bad-native"), ("", #"{"priority":"10"}"#, "bad-native"),
        ("", #"{"actions":[]}"#, "bad-native"), ("", #"{"_k":7}"#, "bad-native"),
        ("", #"{"push-type":"background","badge":1}"#, "bad-native"),
        ("", #"{"push-type":"background","sound":"default"}"#, "bad-native"),
        ("", #"{"push-type":"background","alert":"x"}"#, "bad-native"),
        ("", #"{"push-type":"background","content-available":0}"#, "bad-native"),
        ("", #"{"push-type":"alert","content-state":{}}"#, "bad-native"),
        ("", #"{"push-type":"voip","event":"update","content-state":{}}"#, "bad-native"),
        ("", #"{"push-type":"liveactivity"}"#, "bad-native"), ("", #"{"event":"update"}"#, "bad-native"),
        ("", #"{"event":"stop","content-state":{}}"#, "bad-native"),
        ("", #"{"event":1,"content-state":{}}"#, "bad-native"),
        ("", #"{"content-state":[]}"#, "bad-native"),
        ("", #"{"content-state":{},"timestamp":"now"}"#, "bad-native"),
        ("", #"{"event":"start","content-state":{}}"#, "bad-native"),
        ("", #"{"event":"start","content-state":{},"attributes-type":"A","attributes":1}"#, "bad-native"),
    ])
    func invalidDataOrNativeBlockIsRejected(_ data: String, _ native: String, _ reason: String) throws {
        var sample = SampleNotification.alert(title: "t", body: "b")
        sample.data = data
        sample.native = native
        #expect(try refusal(sample) == RecordedOutcome(ticket: 1, kind: .CARILLON_REJECTED, reason: reason))
    }

    @Test func emptyAlertIsRejected() throws {
        var sample = SampleNotification()
        #expect(try refusal(sample).reason == "payload-empty")
        sample.native = #"{"thread-id":"x"}"#
        #expect(try refusal(sample).reason == "payload-empty")
    }

    @Test func textOfANativeBlockIsShortenedLikeOurs() throws {
        var sample = SampleNotification.alert(title: "title", body: "body")
        let long = String(repeating: "é", count: 5000)
        sample.native = #"{"alert":{"body":"\#(long)"},"sound":"default"}"#
        #expect((4095...4096).contains(try payload(sample).utf8.count))
        sample.native = #"{"alert":"\#(long)"}"#
        #expect((4095...4096).contains(try payload(sample).utf8.count))
    }

    @Test func referencedNoteIsDroppedFirstAndButtonsStay() throws {
        var sample = SampleNotification.alert(title: "title", body: String(repeating: "b", count: 3000))
        sample.data = #"{"kind":7,"referenced_event_content":"\#(String(repeating: "r", count: 2000))"}"#
        sample.actions = [.init(id: "1", label: "One")]
        let text = try payload(sample)
        #expect(text.utf8.count == 4096)
        #expect(text.contains(#""body":"\#(sample.body)""#))
        #expect(text.contains(#"r…"}"#))
        #expect(text.contains(#"[{"id":"1","label":"One"}]"#))
        sample.body = String(repeating: "b", count: 5000)
        let shorter = try payload(sample)
        #expect(shorter.utf8.count == 4096)
        #expect(!shorter.contains("referenced_event_content"))
        #expect(shorter.contains(#"b…"}"#))
        #expect(shorter.contains(#"[{"id":"1","label":"One"}]"#))
    }

    @Test func aLongBodyIsShortenedToApplesLimit() throws {
        var sample = SampleNotification.alert(title: "title", body: String(repeating: "é\"", count: 5000))
        sample.data = #"{"kind":1}"#
        let text = try payload(sample)
        #expect((4090...4096).contains(text.utf8.count))
        let object = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        let alert = try #require((object["aps"] as? [String: Any])?["alert"] as? [String: String])
        #expect(alert["title"] == "title")
        #expect(alert["body"]?.hasSuffix("…") == true)
        #expect(object["kind"] as? Int == 1)
    }

    @Test func payloadThatCannotBeShortenedIsRejectedBeforeSending() throws {
        var sample = SampleNotification.alert(title: "t", body: "b")
        sample.data = #"{"x":"\#(String(repeating: "x", count: 4096))"}"#
        #expect(
            try refusal(sample) == RecordedOutcome(ticket: 1, kind: .CARILLON_REJECTED, reason: "payload-too-large")
        )
    }

    @Test func hostileTextStaysText() throws {
        var sample = SampleNotification.alert(
            title: "\"},\"aps\":{\"badge\":9}",
            body: "\u{0}\u{1F}\u{7F}\u{2028}\u{202E}\\\"\n"
        )
        sample.subtitle = "</script>"
        sample.thread = "\u{8}"
        sample.category = "\\"
        let text = try payload(sample)
        let object = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        let aps = try #require(object["aps"] as? [String: Any])
        #expect(Set(object.keys) == ["aps", "category"])
        #expect(Set(aps.keys) == ["alert", "thread-id"])
        #expect((aps["alert"] as? [String: String])?["title"] == sample.title)
        #expect((aps["alert"] as? [String: String])?["body"] == sample.body)
    }

    @Test func invalidUTF8IsHarmless() throws {
        var sample = SampleNotification.alert(title: "", body: "b")
        sample.titleBytes = [0x61, 0xFF, 0xFE, 0xC3, 0x28, 0xED, 0xA0, 0x80, 0x22]
        let text = try payload(sample)
        #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(text.utf8)) }
    }
}

struct WakePayloadTests {
    private func payload(_ sample: SampleNotification) throws -> String {
        let fixture = try TransportFixture()
        #expect(try fixture.deliver(sample) == .CARILLON_OK)
        return try #require(fixture.host.requests.first).bodyText
    }

    @Test func wakeUpShowsNoDetails() throws {
        #expect(try payload(.wake("dm")) == #"{"aps":{"content-available":1},"t":"dm"}"#)
    }

    @Test func countsABatch() throws {
        #expect(try payload(.wake("dm", count: 7)) == #"{"aps":{"content-available":1},"t":"batch","n":7}"#)
    }

    @Test func wakeUpOmitsAllOtherFields() throws {
        var sample = SampleNotification.alert(title: "secret", body: "secret")
        sample.mode = .CARILLON_WAKE
        sample.signal = "mention"
        sample.url = "app://secret"
        sample.data = #"{"event_id":"secret"}"#
        sample.native = #"{"badge":1}"#
        sample.actions = [.init(id: "secret", label: "secret")]
        #expect(try payload(sample) == #"{"aps":{"content-available":1},"t":"mention"}"#)
    }

    @Test func aSignalIsEscaped() throws {
        #expect(try payload(.wake("a\"b\\\n")) == #"{"aps":{"content-available":1},"t":"a\"b\\\n"}"#)
    }
}
