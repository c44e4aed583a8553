import PlatformTestSupport
import Storage
import Testing

@testable import Rules

/// Plausible typos, and their error messages.
@Suite struct TypoTests {
    private func mistakes(_ yaml: String) -> [String] {
        do {
            _ = try RuleBook(yaml: yaml, name: "r")
            return []
        } catch {
            return error.all.map { "\($0.line):\($0.column): \($0.message)" }
        }
    }

    private static let quotes = "a text with {{…}} in it needs quotes around it, as in \"{{author.name}}\""

    @Test(arguments: plausible) func typoErrorNamesTheExpectedWord(_ keys: String, _ beginning: String) {
        let told = mistakes("version: 1\nrules:\n  - \(keys)\n    match: { kinds: 1 }\n")
        if beginning.isEmpty {
            #expect(told.isEmpty, "\(told)")
        } else {
            #expect(told.contains { $0.contains(beginning) }, "\(told)")
        }
    }

    /// Each is the third line of a file with one rule, whose keys start in column 5.
    private static let plausible = [
        ("Title: x", "3:5: rules[0]: unknown key 'Title'; did you mean 'title'?"),
        ("Body: x", "3:5: rules[0]: unknown key 'Body'; did you mean 'body'?"),
        ("colapse: x", "3:5: rules[0]: unknown key 'colapse'; did you mean 'collapse'?"),
        ("action: []", "3:5: rules[0]: unknown key 'action'; did you mean 'actions'?"),
        (
            "web_push: {}",
            "3:5: rules[0]: unknown key 'web_push'; did you mean 'webpush'? If not, no loaded plugin has a block of that name"
        ),
        ("eventData: false", "3:5: rules[0]: unknown key 'eventData'; did you mean 'event_data'?"),
        (
            "APNS: {}",
            "3:5: rules[0]: unknown key 'APNS'; did you mean 'apns'? If not, no loaded plugin has a block of that name"
        ),
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
        ("title: {{author.name}}", "3:12: rules[0].title: \(quotes)"),
        ("title: { default: {{author.name}}, de: x }", "3:23: rules[0].title.default: \(quotes)"),
        ("apns: { badge: {{count}} }", "3:20: rules[0].apns.badge: \(quotes)"),
        ("apns: { interruption-level: {{signal}} }", "3:33: rules[0].apns.interruption-level: \(quotes)"),
        ("data: { a: {{event.id}} }", "3:16: rules[0].data.a: \(quotes)"),
        ("data: {{event.id}}", "3:11: rules[0].data: \(quotes)"),
        ("title: {{author.name}} liked your note", quotes), ("title: {{{event.content}}}", quotes),
        ("title: {{#zap}}{{zap.amount}}{{/zap}}", quotes), ("title: {{^zap}}none{{/zap}}", quotes),
        ("apns: { alert: { loc-key: K, loc-args: [{{author.name}} ] } }", quotes),
        ("apns: { alert: {{author.name}} x }", quotes),
        ("title: New: {{author.name}}", quotes),
        ("{ title: hello {{author.name}}, body: b }", quotes),
        ("{ title: Zap: 21 }", "; a text with a colon and a blank in it needs quotes around it"),
        ("title: Zap: 21", "; a text with a colon and a blank in it needs quotes around it"),
        ("title: \"{{author.name}\"", "3:12: rules[0].title: the tag '{{author.name}' has no end: expected }}"),
        (
            "title: \"{{author.name and {{zap.amount}}\"",
            "3:12: rules[0].title: the tag '{{author.name and ' has no end: expected }}"
        ),
        ("title: \"{{{event.id}}\"", "3:12: rules[0].title: the tag '{{{event.id' has no end: expected }}}"),
        (
            "title: \"{{#zap}}{{zap.amount}}\"",
            "3:12: rules[0].title: the section {{#zap}} has no end: expected {{/zap}}"
        ),
        (
            "title: \"{{^zap}}{{#event}}x{{/zap}}{{/event}}\"",
            "3:12: rules[0].title: {{/zap}} ends no section: expected {{/event}} for {{#event}}"
        ),
        ("title: \"a {{/zap}}\"", "3:12: rules[0].title: {{/zap}} ends no section"),
        ("title: \"{{name}}\"", "3:12: rules[0].title: there is no variable 'name'; did you mean 'author.name'?"),
        ("title: \"{{event.author}}\"", "3:12: rules[0].title: there is no variable 'event.author'"),
        ("title: \"{{excerpt(event.content, 40)}}\"", "3:12: rules[0].title: there is no variable 'event.content, 40'"),
        (
            "title: \"{{event.content | truncate}}\"",
            "3:12: rules[0].title: there is no variable 'event.content | truncate'"
        ),
        ("title:", "3:11: rules[0].title: expected text"),
        ("title: { de: Hallo }", "3:12: rules[0].title: 'default' is missing: the text for every other language"),
        ("title: { default: Hi, german: Hallo }", "3:35: rules[0].title.german: 'german' is not a language"),
        ("title: x\n    title: y", "'title' is given more than once"),
        ("title: @alice", "not YAML: found character that cannot start any token"),
        ("\tbody: x", "not YAML: found character that cannot start any token (perhaps a tab"),
        ("data: { \"{{signal}}\": x }", "3:27: rules[0].data.{{signal}}: expected no variables in a key"),
        ("data: { <<: *d }", "not YAML: "),
        ("data: { a: &d { b: 1 }, c: { <<: *d } }", "3:34: rules[0].data.c: merging keys (<<) is not supported"),
        ("title: \"${{zap.amount}}\"", ""),
    ]
}
