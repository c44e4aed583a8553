import Foundation
import Testing

@testable import Rules

/// An `apns` block as a whole: its keys, and their valid combinations (Apple's "Generating a remote notification",
/// "Sending notification requests to APNs", "ActivityKit push notifications").
@Suite struct APNsBlockTests {
    private static let type = "rules[0].apns.push-type: "

    static let refused: [(keys: String, mistakes: [String])] = [
        (
            "apns: { push-type: background, alert: a, badge: 1, sound: s }",
            ["alert", "badge", "sound"].map {
                "rules[0].apns.\($0): not allowed in a background push: use 'push-type: alert'"
            }
        ),
        (
            "title: { loc-key: K, default: t }, apns: { push-type: background }",
            ["rules[0].title.loc-key: not allowed in the rule's background push: use 'push-type: alert'"]
        ),
        (
            "apns: { push-type: background, content-available: 0 }",
            [
                "rules[0].apns.content-available: 1 wakes the app in the background; remove 'content-available' if "
                    + "it must not"
            ]
        ),
        (
            "title: t, apns: { content-available: 0 }",
            [
                "rules[0].apns.content-available: 1 wakes the app in the background; remove 'content-available' if "
                    + "it must not"
            ]
        ),
        (
            "apns: { content-available: 1, priority: 10 }",
            ["rules[0].apns.priority: background pushes require priority 5"]
        ),
        (
            "title: t, apns: { push-type: background, priority: 1 }",
            ["rules[0].apns.priority: background pushes require priority 5"]
        ),
        (
            "apns: { push-type: alert, content-available: 1 }",
            [type + "an alert shows something: expected an alert, a badge, a sound or the rule's texts"]
        ),
        (
            "title: t, apns: { push-type: liveactivity }",
            [type + "a Live Activity needs 'event' (start, update or end) and 'content-state'"]
        ),
        (
            "apns: { event: update }",
            ["rules[0].apns.event: 'content-state' is missing: the Live Activity's new state"]
        ),
        (
            "apns: { event: start, content-state: {} }",
            [
                "rules[0].apns.event: 'attributes-type' is missing: the type of the new activity",
                "rules[0].apns.event: 'attributes' is missing: the fixed content of the new activity",
                "rules[0].apns.event: 'alert' is missing: the alert that a new Live Activity shows",
            ]
        ),
        (
            "apns: { event: update, content-state: {}, dismissal-date: +1h }",
            ["rules[0].apns.dismissal-date: allowed only with 'event: end'"]
        ),
        (
            "apns: { event: end, attributes-type: A, attributes: {}, input-push-token: 1 }",
            ["attributes-type", "attributes", "input-push-token"].map {
                "rules[0].apns.\($0): allowed only with 'event: start'"
            }
        ),
        (
            "apns: { content-state: {}, priority: 1 }",
            ["rules[0].apns.priority: Live Activities require priority 5 or 10"]
        ),
        (
            "title: t, apns: { stale-date: +1h }",
            ["rules[0].apns.stale-date: allowed only in a Live Activity: add 'event' (start, update or end)"]
        ),
        (
            "title: t, apns: { push-type: voip, event: update, content-state: {} }",
            ["event", "content-state"].map {
                "rules[0].apns.\($0): allowed only in a Live Activity, not with 'push-type: voip'"
            }
        ),
        (
            "title: t, apns: { push-type: alert, events: end }",
            ["rules[0].apns.events: allowed only in a Live Activity, not with 'push-type: alert'"]
        ),
        (
            "title: t, apns: { push-type: pushtotalk, priority: 5 }",
            ["rules[0].apns.priority: push-to-talk requires priority 10"]
        ),
        (
            "title: t, apns: { content-changed: true }",
            ["rules[0].apns.content-changed: allowed only with 'push-type: widgets' and 'push-type: controls'"]
        ),
        (
            "title: t, apns: { push-type: controls, content-changed: false }",
            ["rules[0].apns.content-changed: expected true with 'push-type: controls'"]
        ),
        (
            "title: t, apns: { push-type: widgets, content-state: {} }",
            ["rules[0].apns.content-state: allowed only in a Live Activity, not with 'push-type: widgets'"]
        ),
        (
            "title: t, apns: { relevance-score: 1.5 }",
            ["rules[0].apns.relevance-score: expected a number from 0 to 1; only Live Activities allow others"]
        ),
        (
            "apns: { mutable-content: 1, badge: 1 }",
            [
                "rules[0].apns.mutable-content: only an alert can be changed before it is shown: expected an alert or the rule's texts"
            ]
        ),
        (
            "title: t, actions: [{ id: a, label: b }], apns: { mutable-content: 0 }",
            [
                "rules[0].apns.mutable-content: expected 1, because the app's notification service extension adds the rule's buttons"
            ]
        ),
        (
            "apns: { alert: { title: { loc-key: K }, sound: s } }",
            [
                "rules[0].apns.alert.title: only Live Activities allow a dictionary here: use title-loc-key",
                "rules[0].apns.alert.sound: only Live Activities allow a sound here: move it next to 'alert'",
            ]
        ),
        (
            "apns: { alert: { body: b, title-loc-args: [a] } }",
            [
                "rules[0].apns.alert.title-loc-args: 'title-loc-key' is missing: add the key of the string for these arguments"
            ]
        ),
        (
            """
            apns: { event: update, content-state: {}, badge: 1, category: com.klaviyo.category.yesNo, actions: {}, \
            _k: a, \
            thread-id: a, content-available: 1, mutable-content: 1, target-content-id: a, interruption-level: active, \
            filter-criteria: a, url-args: [], alert: { body: b } }
            """,
            [
                "badge", "category", "actions", "_k", "thread-id", "content-available", "mutable-content",
                "target-content-id", "interruption-level", "filter-criteria", "url-args",
            ].map { "rules[0].apns.\($0): not allowed in a Live Activity" }
        ),
        (
            "apns: { event: end, alert: { body: b, subtitle: s, launch-image: i, summary-arg: a } }",
            ["subtitle", "launch-image", "summary-arg"].map {
                "rules[0].apns.alert.\($0): not allowed in the alert of a Live Activity"
            }
        ),
    ]

    @Test(arguments: refused)
    func contradictoryKeysAreErrors(_ keys: String, _ mistakes: [String]) {
        #expect(Set(BlockFixture.mistakes(keys)) == Set(mistakes))
    }

    @Test(
        arguments: [
            "apns: { content-available: 1 }", "apns: { content-available: 1, priority: 5 }",
            "title: t, apns: { content-available: 1, priority: 10 }", "title: t, apns: { push-type: background }",
            "title: t, apns: { push-type: voip, priority: 10 }", "apns: { push-type: alert, badge: 0 }",
            "title: t, apns: { push-type: pushtotalk, priority: 10 }", "apns: { push-type: pushtotalk }",
            "title: t, apns: { push-type: widgets, content-changed: true, sound: default }",
            "apns: { push-type: controls, content-changed: true }",
            "title: t, apns: { push-type: location, priority: 5 }",
            "apns: { push-type: complication }", "apns: { push-type: fileprovider }", "apns: { push-type: mdm }",
            "apns: { push-type: liveactivity, content-state: {} }", "apns: { content-state: {}, relevance-score: 75 }",
            "apns: { event: end }", "apns: { event: end, dismissal-date: now, content-state: {} }",
            "title: t, apns: { event: start, content-state: {}, attributes-type: A, attributes: {} }",
            "apns: { event: update, content-state: {}, alert: { title: { loc-key: K, loc-args: [a] }, body: b, sound: s } }",
            "title: t, actions: [{ id: a, label: b }], apns: { mutable-content: 1 }",
            "title: t, actions: [{ id: a, label: b }], apns: { badge: 1 }",
        ]
    )
    func consistentKeysAreAccepted(_ keys: String) {
        #expect(BlockFixture.mistakes(keys) == [])
    }

    /// Every property of Azure's `AppleApsNativeMessage`, as far as one push may have them together.
    @Test func everyKeyOfANativeMessageIsCarried() throws {
        let alert = try BlockFixture.native(
            "ios",
            """
            apns: { alert: { title: t, body: b }, badge: 1, category: com.klaviyo.category.yesNo, \
            filter-criteria: f, interruption-level: passive, \
            mutable-content: 1, relevance-score: 0.5, sound: default, target-content-id: w, thread-id: g }
            """
        )
        #expect(
            try jsonObject(alert) == [
                "alert": ["title": "t", "body": "b"], "badge": 1, "category": "com.klaviyo.category.yesNo",
                "filter-criteria": "f", "interruption-level": "passive", "mutable-content": 1, "relevance-score": 0.5,
                "sound": "default",
                "target-content-id": "w", "thread-id": "g",
            ]
        )
        #expect(try BlockFixture.native("ios", "apns: { content-available: 1 }") == #"{"content-available":1}"#)
        let activity = try BlockFixture.native(
            "ios",
            """
            apns: { events: end, content-state: { score: 3 }, dismissal-date: 1771934500, stale-date: 1771934450, \
            timestamp: 1771934400 }
            """
        )
        #expect(
            try jsonObject(activity) == [
                "event": "end", "content-state": ["score": 3], "dismissal-date": 1_771_934_500,
                "stale-date": 1_771_934_450, "timestamp": 1_771_934_400,
            ]
        )
    }
}
