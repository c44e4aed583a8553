import Testing
import YAMLReading

@testable import Rules

/// What people plausibly write wrong, and what they are told.
@Suite struct TypoTests {
    private func mistakes(_ yaml: String) -> [String] {
        do {
            _ = try RuleBook(yaml: yaml, name: "r")
            return []
        } catch {
            return error.all.map { "\($0.line):\($0.column): \($0.message)" }
        }
    }

    /// Each is the third line of a file with one rule, whose keys begin in column 5.
    @Test(arguments: [
        ("Title: x", "3:5: rules[0]: unknown key 'Title'; did you mean 'title'?"),
        ("Body: x", "3:5: rules[0]: unknown key 'Body'; did you mean 'body'?"),
        ("colapse: x", "3:5: rules[0]: unknown key 'colapse'; did you mean 'collapse'?"),
        ("action: []", "3:5: rules[0]: unknown key 'action'; did you mean 'actions'?"),
        ("web_push: {}", "3:5: rules[0]: unknown key 'web_push'; did you mean 'webpush'?"),
        ("eventData: false", "3:5: rules[0]: unknown key 'eventData'; did you mean 'event_data'?"),
        ("APNS: {}", "3:5: rules[0]: unknown key 'APNS'; did you mean 'apns'?"),
        (
            "apns: { mutable_content: 1 }",
            "3:13: rules[0].apns: unknown key 'mutable_content'; did you mean 'mutable-content'?"
        ),
        (
            "apns: { mutableContent: 1 }",
            "3:13: rules[0].apns: unknown key 'mutableContent'; did you mean 'mutable-content'?"
        ),
        (
            "apns: { contentAvailable: 1 }",
            "3:13: rules[0].apns: unknown key 'contentAvailable'; did you mean 'content-available'?"
        ),
        ("apns: { badge: '1' }", "3:20: rules[0].apns.badge: expected a whole number from 0 to 2147483647"),
        ("apns: { sound: yes please }", ""),
        (
            "fcm: { priority: high }",
            "3:22: rules[0].fcm.priority: 'high' is none of NORMAL, HIGH; did you mean 'HIGH'?"
        ),
        (
            "fcm: { notification: { channel_id: x } }",
            "3:28: rules[0].fcm.notification: unknown key 'channel_id'; did you mean 'channelId'?"
        ),
        ("mode: Nudge", "3:11: rules[0].mode: 'Nudge' is none of wake, nudge, sealed, alert; did you mean 'nudge'?"),
        ("drop: 1", "3:11: rules[0].drop: expected true or false"),
        (
            "expires: 4 hours",
            "3:14: rules[0].expires: expected a time from 1m to 28d, such as 90s, 15m, 4h, 2d or 1d12h"
        ),
        ("title: {{author.name}}", "3:12: rules[0].title: "),
        ("title: \"{{author.name}\"", "3:12: rules[0].title: the template is broken"),
        ("title: \"{{name}}\"", "3:12: rules[0].title: there is no variable 'name'; did you mean 'author.name'?"),
        ("title: \"{{event.author}}\"", "3:12: rules[0].title: there is no variable 'event.author'"),
        ("title: \"{{excerpt(event.content, 40)}}\"", "3:12: rules[0].title: there is no variable 'event.content, 40'"),
        (
            "title: \"{{event.content | truncate}}\"",
            "3:12: rules[0].title: there is no variable 'event.content | truncate'"
        ),
        ("title:", "3:11: rules[0].title: expected text"),
        ("title: { de: Hallo }", "3:12: rules[0].title: 'default' is missing: the text for every other language"),
        ("title: { default: Hi, german: Hallo }", "3:35: rules[0].title.german: 'german' is no language"),
        ("title: x\n    title: y", "'title' is given more than once"),
        ("title: @alice", "not YAML: found character that cannot start any token"),
        ("\tbody: x", "not YAML: found character that cannot start any token (a tab, perhaps"),
        ("data: { \"{{signal}}\": x }", "3:27: rules[0].data.{{signal}}: a key is the same for every event"),
        ("data: { <<: *d }", "not YAML: "),
        ("data: { a: &d { b: 1 }, c: { <<: *d } }", "3:34: rules[0].data.c: keys are not merged here"),
        ("title: \"${{zap.amount}}\"", ""),
    ])
    func isToldWhatWasExpected(_ keys: String, _ beginning: String) {
        let told = mistakes("version: 1\nrules:\n  - \(keys)\n    match: { kinds: 1 }\n")
        if beginning.isEmpty {
            #expect(told.isEmpty, "\(told)")
        } else {
            #expect(told.contains { $0.contains(beginning) }, "\(told)")
        }
    }
}
