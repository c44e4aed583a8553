import PlatformTestSupport
import Storage
import Testing

@testable import Rules

/// Errors in single keys that are found when a file is read.
@Suite struct BlockTableTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let keys: String
        let mistake: String

        init(_ keys: String, _ mistake: String) {
            self.keys = keys
            self.mistake = mistake
        }

        var testDescription: String { keys }
    }

    static let refused = [
        Case("apns: { bagde: 1 }", "rules[0].apns: unknown key 'bagde'; did you mean 'badge'?"),
        Case("apns: { threadid: x }", "rules[0].apns: unknown key 'threadid'; did you mean 'thread-id'?"),
        Case(
            "apns: { alert: { titel: x } }",
            "rules[0].apns.alert: unknown key 'titel'; did you mean 'title'?"
        ),
        Case("apns: { badge: -1 }", "rules[0].apns.badge: expected a whole number from 0 to 2147483647"),
        Case("apns: { badge: one }", "rules[0].apns.badge: expected a whole number from 0 to 2147483647"),
        Case("apns: { sound: { critical: 2 } }", "rules[0].apns.sound.critical: expected 1, 0, true or false"),
        Case(
            "apns: { sound: { critical: 1, name: a, volume: 1.5 } }",
            "rules[0].apns.sound.volume: expected a number from 0 to 1"
        ),
        Case(
            "apns: { interruption-level: pasive }",
            "rules[0].apns.interruption-level: 'pasive' is none of passive, active, time-sensitive, critical; "
                + "did you mean 'passive'?"
        ),
        Case("apns: { priority: 7, badge: 1 }", "rules[0].apns.priority: expected one of 1, 5, 10"),
        Case("apns: { event: stop, content-state: {} }", "rules[0].apns.event: 'stop' is none of start, update, end"),
        Case(
            "apns: { event: update, content-state: [1] }",
            "rules[0].apns.content-state: expected a mapping"
        ),
        Case(
            "apns: { event: update, content-state: {}, stale-date: tomorrow }",
            "rules[0].apns.stale-date: " + MomentTemplate.expectation
        ),
        Case(
            "apns: { event: update, content-state: {}, stale-date: 1771934400000 }",
            "rules[0].apns.stale-date: expected seconds since 1970, not after the year 9999"
        ),
        Case(
            "apns: { event: update, content-state: {}, events: end }",
            "rules[0].apns.events: this is another name of 'event'; use only one of them"
        ),
        Case("apns: { alert: { loc-key: K, loc-args: x } }", "rules[0].apns.alert.loc-args: expected a list"),
        Case("apns: { badge: \"{{author.name}}\" }", "rules[0].apns.badge: " + numeric),
        Case("apns: { badge: \"{{count}}{{count}}\" }", "rules[0].apns.badge: " + numeric),
        Case("apns: { badge: \"1{{count}}\" }", "rules[0].apns.badge: " + numeric),
        Case(
            "apns: { event: \"{{event.content}}\", content-state: {} }",
            "rules[0].apns.event: '{{event.content}}' is none of start, update, end"
        ),
        Case("fcm: { collapse_key: x }", "rules[0].fcm: unknown key 'collapse_key'; did you mean 'collapseKey'?"),
        Case("fcm: { ttl: 30d }", "rules[0].fcm.ttl: expected a time of at most 2419200 seconds"),
        Case("fcm: { ttl: soon }", "rules[0].fcm.ttl: expected a time such as 30s, 15m, 4h or 2d"),
        Case("fcm: { notification: { color: red } }", "rules[0].fcm.notification.color: expected a colour as #rrggbb"),
        Case(
            "fcm: { notification: { bodyLocArgs: [a] } }",
            "rules[0].fcm.notification.bodyLocArgs: 'bodyLocKey' is missing: add the key of the string for these arguments"
        ),
        Case(
            "fcm: { notification: { lightSettings: { color: { red: 2 } } } }",
            "rules[0].fcm.notification.lightSettings.color.red: expected a number from 0 to 1"
        ),
        Case("webpush: { navigate: /a }", "rules[0].webpush.navigate: " + AbsoluteURL.expectation),
        Case("webpush: { topic: a b }", "rules[0].webpush.topic: expected 1 to 32 of A-Z, a-z, 0-9, - and _"),
        Case("webpush: { silent: true, vibrate: [1] }", "rules[0].webpush.vibrate: not allowed with 'silent: true'"),
        Case("webpush: { vibrate: [] }", "rules[0].webpush.vibrate: expected 1 to 32 values"),
        Case("ntfy: { priority: 6 }", "rules[0].ntfy.priority: expected a whole number from 1 to 5"),
        Case(
            "ntfy: { icon: \"data:image/png,x\" }",
            "rules[0].ntfy.icon: expected a URL that starts with https:// or http://"
        ),
        Case("ntfy: { cache: never }", "rules[0].ntfy.cache: expected yes or no"),
        Case("gotify: { priority: 11 }", "rules[0].gotify.priority: expected a whole number from 0 to 10"),
        Case("unifiedpush: [a]", "rules[0].unifiedpush: expected a mapping"),
        Case("native: { matrix: 1 }", "rules[0].native.matrix: expected a mapping"),
        Case(
            "native: { ios: { badge: 2 } }",
            "rules[0].native.ios: move this to the rule's key 'apns'; 'native' is for other plugins"
        ),
        Case("data: { aps: {} }", "rules[0].data.aps: Apple's own keys belong in 'apns'"),
        Case(
            "data: { event_id: x }",
            "rules[0].data.event_id: the event's own keys already include 'event_id'; 'event_data: false' omits them"
        ),
        Case("expires: 59s", "rules[0].expires: " + lifetime),
        Case("expires: 29d", "rules[0].expires: " + lifetime),
        Case("expires: 4", "rules[0].expires: " + lifetime),
    ]

    private static let lifetime = "expected a time from 1m to 28d, such as 90s, 15m, 4h, 2d or 1d12h"
    private static let numeric =
        "expected a number, or one variable that is a number: {{event.kind}}, {{event.created_at}}, "
        + "{{referenced.kind}}, {{zap.amount}}, {{count}}"

    @Test(arguments: refused)
    func blockErrorNamesTheExpectedValue(_ refused: Case) {
        #expect(BlockFixture.mistakes(refused.keys) == [refused.mistake])
    }

    @Test func errorsHaveLineAndColumn() {
        let yaml = """
            version: 1
            rules:
              - match: { kinds: 7 }
                signal: reaction
                title: t
                apns:
                  badge: many
                  alert:
                    titel: x
                fcm: { priority: LOW, notification: { sticky: maybe } }
                expires: never
            """
        let mistakes = #expect(throws: Diagnostics.self) { try RuleBook(yaml: yaml, name: "r") }
        #expect(
            mistakes?.all.map { "\($0.line):\($0.column)" } == ["7:14", "9:9", "10:22", "10:51", "11:14"]
        )
    }

    @Test func brokenTemplateInABlockIsAnError() {
        let mistakes = BlockFixture.mistakes("unifiedpush: { a: [\"{{author.nam}}\"] }")
        #expect(mistakes.count == 1)
        #expect(mistakes.first?.hasPrefix("rules[0].unifiedpush.a[0]: there is no variable 'author.nam'") == true)
    }
}
