import CarillonABI
import Foundation
import PluginTestSupport
import Testing

struct AlertPayloadTests {
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

    /// Seed 000, "APNs JSON Structure".
    @Test func aReactionIsTheReferencePayload() throws {
        var sample = SampleNotification.alert(title: "⚡ alice liked your note", body: "❤️")
        sample.category = "kind_7"
        sample.data = """
            {"event_id":"abc123...","author_pubkey":"def456...","kind":7,"created_at":1708000000,\
            "referenced_event_id":"original789...","referenced_event_kind":1,\
            "referenced_event_content":"This is the original note that was liked..."}
            """
        sample.native = #"{"badge":1,"sound":"default","mutable-content":1}"#
        let expected = """
            {
              "aps": {
                "alert": { "title": "⚡ alice liked your note", "body": "❤️" },
                "badge": 1,
                "sound": "default",
                "mutable-content": 1
              },
              "category": "kind_7",
              "event_id": "abc123...",
              "author_pubkey": "def456...",
              "kind": 7,
              "created_at": 1708000000,
              "referenced_event_id": "original789...",
              "referenced_event_kind": 1,
              "referenced_event_content": "This is the original note that was liked..."
            }
            """
        #expect(try isSameJSON(payload(sample), expected))
    }

    /// Seed 002, "Dynamic Action Buttons".
    @Test func buttonsAreTheDynamicForm() throws {
        var sample = SampleNotification.alert(title: "Flash Sale!", body: "50% off everything - today only!")
        sample.id = "unique_notification_id_12345"
        sample.url = "myapp://home"
        sample.native = #"{"sound":"default","badge":1}"#
        sample.actions = [
            .init(id: "com.klaviyo.action.shop", label: "Shop Now", url: "myapp://sale/flash", icon: "cart.fill"),
            .init(id: "com.klaviyo.action.later", label: "Remind Later", url: "myapp://reminders"),
        ]
        let expected = """
            {
              "aps": {
                "alert": { "title": "Flash Sale!", "body": "50% off everything - today only!" },
                "mutable-content": 1,
                "sound": "default",
                "badge": 1
              },
              "body": {
                "_k": "unique_notification_id_12345",
                "url": "myapp://home",
                "action_buttons": [
                  { "id": "com.klaviyo.action.shop", "label": "Shop Now", "url": "myapp://sale/flash", "icon": "cart.fill" },
                  { "id": "com.klaviyo.action.later", "label": "Remind Later", "url": "myapp://reminders" }
                ]
              }
            }
            """
        #expect(try isSameJSON(payload(sample), expected))
    }

    @Test func buttonsThatCouldNotShowAreLeftOut() throws {
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

    /// Seed 003: every key of `AppleApsNativeMessage`.
    @Test func theRulesBlockIsMergedLast() throws {
        var sample = SampleNotification.alert(title: "t", body: "b")
        sample.subtitle = "s"
        sample.thread = "ours"
        sample.native = """
            {"badge":3,"category":"c","content-available":1,"content-state":{"x":[1,2]},"dismissal-date":1,"events":"update",
             "filter-criteria":"f","interruption-level":"time-sensitive","mutable-content":1,"relevance-score":0.5,
             "sound":{"critical":1,"name":"n","volume":0.25},"stale-date":2,"target-content-id":"w","thread-id":"theirs",
             "timestamp":3}
            """
        let expected = """
            {"aps":{"alert":{"title":"t","subtitle":"s","body":"b"},"badge":3,"category":"c","content-available":1,
             "content-state":{"x":[1,2]},"dismissal-date":1,"events":"update","filter-criteria":"f",
             "interruption-level":"time-sensitive","mutable-content":1,"relevance-score":0.5,
             "sound":{"critical":1,"name":"n","volume":0.25},"stale-date":2,"target-content-id":"w","thread-id":"theirs",
             "timestamp":3}}
            """
        #expect(try isSameJSON(payload(sample), expected))
    }

    @Test func theRulesAlertReplacesOrAmendsOurs() throws {
        var sample = SampleNotification.alert(title: "t", body: "b")
        sample.native = #"{"alert":"plain"}"#
        #expect(try payload(sample) == #"{"aps":{"alert":"plain"}}"#)
        sample.native = #"{"alert":{"loc-key":"K","title":"theirs"}}"#
        #expect(try payload(sample) == #"{"aps":{"alert":{"body":"b","loc-key":"K","title":"theirs"}}}"#)
        sample.native = #"{"\u0061lert":{"title":"theirs"}}"#
        #expect(try payload(sample) == #"{"aps":{"alert":{"body":"b","title":"theirs"}}}"#)
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
        ("", #"{"alert":{"a":1,"a":2}}"#, "bad-native"),
    ])
    func whatWouldBreakThePayloadIsRejected(_ data: String, _ native: String, _ reason: String) throws {
        var sample = SampleNotification.alert(title: "t", body: "b")
        sample.data = data
        sample.native = native
        #expect(try refusal(sample) == RecordedOutcome(ticket: 1, kind: .CARILLON_REJECTED, reason: reason))
    }

    @Test func anAlertWithNothingToShowIsRejected() throws {
        var sample = SampleNotification()
        #expect(try refusal(sample).reason == "payload-empty")
        sample.native = #"{"content-available":1}"#
        #expect(try refusal(sample).reason == "payload-empty")
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

    @Test func whatCannotBeShortenedIsRejectedBeforeItIsSent() throws {
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

    @Test func bytesThatAreNoUTF8DoNoHarm() throws {
        var sample = SampleNotification.alert(title: "", body: "b")
        sample.titleBytes = [0x61, 0xFF, 0xFE, 0xC3, 0x28, 0xED, 0xA0, 0x80, 0x22]
        let text = try payload(sample)
        #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(text.utf8)) }
    }
}
