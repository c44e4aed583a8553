import Core
import PlatformTestSupport
import Push
import Testing
import TimeTestSupport

@testable import Rules

/// A notification that is silent in mode alert is silent in every mode, and none is louder in a stricter mode.
struct SilenceTests {
    private static func rule(_ keys: String) throws -> Rule {
        let book = try RuleBook(yaml: "version: 1\nrules:\n  - { match: { kinds: [1] }, \(keys) }", name: "r")
        return try #require(book.rules.first)
    }

    @Test(arguments: [
        ("apns: { content-available: 1 }", ["ios", "android", "web", "unifiedpush", "ntfy", "gotify", "other"]),
        ("data: { a: 1 }", ["ios", "android", "web", "unifiedpush", "ntfy", "gotify", "other"]),
        ("apns: { badge: 0 }", ["ios", "ntfy"]),
        ("title: t, apns: { push-type: background }", ["ios"]),
        ("title: t, apns: { event: update, content-state: { a: 1 } }", ["ios"]),
        ("title: t, apns: { event: end }", ["ios"]),
        ("title: t, apns: { push-type: location }", ["ios"]),
        ("title: t, apns: { push-type: complication }", ["ios"]),
        ("mode: nudge, apns: { content-available: 1 }", ["ios"]),
    ])
    func ruleThatShowsNoTextIsSilent(keys: String, platforms: [String]) throws {
        let rule = try Self.rule(keys)
        for platform in platforms { #expect(rule.isSilent(on: platform), "\(keys) on \(platform)") }
    }

    @Test(arguments: [
        ("title: t", ["ios", "android", "web", "unifiedpush", "ntfy", "gotify"]),
        ("title: t, apns: { push-type: background }", ["android", "ntfy"]),
        ("title: t, apns: { event: update, content-state: { a: 1 } }", ["android", "ntfy"]),
        ("apns: { alert: hello }", ["ios"]),
        ("apns: { push-type: voip }", ["ios"]),
        ("apns: { event: update, content-state: { a: 1 }, sound: default }", ["ios"]),
        ("apns: { event: start, content-state: {}, attributes-type: T, attributes: {}, alert: x }", ["ios"]),
        ("fcm: { notification: { titleLocKey: NEWS } }", ["android"]),
        // Without their own texts they can only show the file's neutral text.
        ("mode: nudge", ["ios", "android", "ntfy"]),
        ("mode: wake", ["ntfy", "gotify"]),
    ])
    func ruleThatShowsAnythingIsNotSilent(keys: String, platforms: [String]) throws {
        let rule = try Self.rule(keys)
        for platform in platforms { #expect(!rule.isSilent(on: platform), "\(keys) on \(platform)") }
    }

    @Test(arguments: Mode.allCases)
    func silentNotificationIsSilentInEveryMode(_ mode: Mode) throws {
        let rule = try Self.rule("apns: { content-available: 1, badge: 3 }, category: c")
        var form: Notification? = rule.render(Fixture.input(kind: 1), signal: .mention, mode: mode, isSilent: true)
        while let notification = form {
            #expect(notification.neutral.isEmpty && notification.neutralPresentation.isEmpty)
            #expect(notification.mode != .nudge)
            form = notification.stricter
        }
    }
}

/// The sound, badge and urgency of nudges and sealed pushes.
struct StricterPresentationTests {
    private func notification(
        _ keys: String,
        _ mode: Mode,
        top: String = "",
        others: String = ""
    ) throws -> Notification {
        let book = try RuleBook(
            yaml: """
                version: 1
                categories: [NOTE, COINS, NEWS]
                rules:
                  - { match: { kinds: [1] }, title: t, \(keys) }
                \(others)
                \(top)
                """,
            name: "r"
        )
        let rule = try #require(book.rules.first)
        return rule.render(Fixture.input(kind: 1, content: "secret"), signal: .mention, mode: mode, now: 1_000_000)
    }

    private func block(_ platform: String, of notification: Notification) throws -> String {
        notification.neutralPresentation.native[platform] ?? ""
    }

    @Test(arguments: Mode.allCases)
    func nudgeExpiresByTheFile(_ mode: Mode) throws {
        let top = "nudge: { title: n, expires: 1h }"
        let own = try notification("expires: 4h", mode, top: top)
        #expect(own.expiresAt == Timestamp(milliseconds: 1_000_000) + .hours(mode == .nudge ? 1 : 4))
        let end = Timestamp(milliseconds: 1_000_000) + .hours(1)
        #expect(try notification("body: b", mode, top: top).expiresAt == (mode == .nudge ? end : .epoch))
    }

    @Test func nudgeKeepsKeysWithoutContent() throws {
        let nudge = try notification(
            """
            category: note, thread: "{{event.id}}", url: "app://{{event.id}}",
                apns: { sound: soft.caf, badge: 1, interruption-level: passive, category: NOTE, priority: 5,
                  thread-id: x, filter-criteria: "{{event.content}}", relevance-score: 0.5 },
                fcm: { style: notification, priority: NORMAL, collapseKey: x,
                  notification: { channelId: notes, titleLocKey: SECRET, tag: "{{event.id}}" } },
                webpush: { silent: true, icon: "https://a.example/i.png", tag: "{{event.content}}" },
                ntfy: { priority: 1, tags: [bell] }, gotify: { priority: 2, markdown: true }
            """,
            .nudge
        )
        #expect(nudge.neutralPresentation.category == "note" && nudge.neutralPresentation.thread.isEmpty)
        #expect(nudge.neutralPresentation.url.isEmpty)
        #expect(
            try block("ios", of: nudge)
                == #"{"sound":"soft.caf","badge":1,"interruption-level":"passive","category":"NOTE","priority":5}"#
        )
        #expect(
            try block("android", of: nudge) == #"{"priority":"NORMAL","notification":{"channelId":"notes"}}"#
        )
        #expect(try block("web", of: nudge) == #"{"silent":true}"#)
        #expect(try block("ntfy", of: nudge) == #"{"priority":1}"#)
        #expect(try block("gotify", of: nudge) == #"{"priority":2}"#)
    }

    @Test func valuesFromVariablesAreQuietestInANudge() throws {
        let nudge = try notification(
            #"""
            category: "kind_{{event.kind}}",
                apns: { sound: "{{event.content}}", badge: "{{event.kind}}", interruption-level: "{{event.tag.x}}" },
                ntfy: { priority: "{{event.tag.priority}}" }
            """#,
            .nudge
        )
        #expect(nudge.neutralPresentation.category.isEmpty)
        #expect(try block("ios", of: nudge) == #"{"interruption-level":"passive"}"#)
        #expect(try block("ntfy", of: nudge) == #"{"priority":1}"#)
    }

    @Test func sealedPushHidesItsRuleFromThePushService() throws {
        let keys = "category: coins, apns: { sound: coins.caf, badge: 1, interruption-level: passive, category: COINS }"
        let sealed = try notification(keys, .sealed, others: "  - { match: { kinds: [7] }, title: t }")
        #expect(sealed.neutralPresentation.category.isEmpty)
        #expect(try block("ios", of: sealed) == #"{"sound":"default","badge":1,"interruption-level":"passive"}"#)
        // A value that all rules share reveals no rule.
        let only = try notification(keys, .sealed, others: "  - { match: { kinds: [7] }, drop: true }")
        #expect(only.neutralPresentation.category == "coins")
        #expect(try block("ios", of: only).contains(#""sound":"coins.caf""#))
        #expect(try block("ios", of: only).contains(#""category":"COINS""#))
    }

    @Test func fileLevelNudgeAcceptsEveryRuleKey() throws {
        let top = #"""
            nudge:
              title: News
              subtitle: Inbox
              body: "{{count}}"
              category: news
              thread: inbox
              collapse: inbox
              url: app://inbox
              urgency: low
              actions: [{ id: open, label: { default: Open, de: Öffnen }, url: "app://open" }]
              data: { inbox: true, many: !!int "{{count}}" }
              apns: { sound: soft.caf, badge: "{{count}}", category: NEWS }
              fcm: { notification: { channelId: news } }
              native: { other: { a: 1 } }
            """#
        let nudge = try notification("apns: { sound: loud.caf }, urgency: high", .nudge, top: top)
        #expect(nudge.neutral == NeutralTexts(title: "News", body: "1") && nudge.urgency == .low)
        let presentation = nudge.neutralPresentation
        #expect(presentation.subtitle == "Inbox" && presentation.category == "news" && presentation.thread == "inbox")
        #expect(presentation.collapseKey == "inbox" && presentation.url == "app://inbox")
        #expect(presentation.actions == [NotificationAction(id: "open", label: "Open", url: "app://open")])
        #expect(presentation.data == #"{"inbox":true,"many":1}"#)
        #expect(presentation.native["ios"] == #"{"sound":"soft.caf","badge":1,"category":"NEWS"}"#)
        #expect(presentation.native["android"] == #"{"notification":{"channelId":"news"}}"#)
        #expect(presentation.native["other"] == #"{"a":1}"#)
    }

    @Test(arguments: [
        ("apns: { badge: 1 }", "apns: { sound: default, interruption-level: critical, priority: 10 }"),
        ("apns: { interruption-level: passive, priority: 5 }", "apns: { interruption-level: active, priority: 10 }"),
        ("ntfy: { priority: 2 }", "ntfy: { priority: 5 }, webpush: { vibrate: [1], urgency: high }"),
        ("webpush: { silent: true }", "webpush: { silent: false }, gotify: { priority: 10 }"),
    ])
    func noNudgeIsLouderThanTheAlert(keys: String, nudge: String) throws {
        let native = try notification(keys, .nudge, top: "nudge: { \(nudge) }").neutralPresentation.native
        let all = native.values.joined()
        let loud = ["sound", "critical", "time-sensitive", #":10"#, #":5}"#, "vibrate", "high", #""silent":false"#]
        for word in loud where !(keys.contains("priority: 5") && word == #":5}"#) {
            #expect(!all.contains(word), "\(all)")
        }
    }

    @Test func nudgeOnlyRuleHasItsOwnTexts() throws {
        let nudge = try notification(
            "mode: nudge, apns: { sound: mine.caf }",
            .alert,
            top: "nudge: { apns: { sound: common.caf, badge: 1, interruption-level: time-sensitive } }"
        )
        #expect(nudge.mode == .nudge)
        #expect(
            try block("ios", of: nudge)
                == #"{"sound":"mine.caf","badge":1,"interruption-level":"time-sensitive"}"#
        )
    }

    @Test func visibleWakeUpIsNotLouderThanTheAlert() throws {
        let wake = try notification("ntfy: { priority: 1, tags: [bell] }, apns: { sound: default }", .wake)
        #expect(wake.mode == .wake && wake.neutralPresentation == Presentation(native: ["ntfy": #"{"priority":1}"#]))
    }
}

/// Notifications that stand for several events.
struct BatchTests {
    private func batch(_ text: String, _ urgency: Urgency = .normal, _ mode: Mode = .alert) throws -> Notification {
        try RuleBook(yaml: "version: 1\n" + text, name: "r")
            .renderSummary(count: 7, signal: .dm, urgency: urgency, mode: mode, now: 1_000_000)
    }

    @Test func summarySoundsLikeTheBuiltInRules() throws {
        let book = try RuleBook.builtIn()
        let batch = book.renderSummary(count: 7, signal: .dm, urgency: .high, mode: .alert)
        #expect(batch.title == "7 new notifications" && batch.category == "batch" && batch.count == 7)
        #expect(batch.native == ["ios": #"{"mutable-content":1,"sound":"default","badge":1}"#])
        for mode in [Mode.nudge, .sealed] {
            let other = book.renderSummary(count: 7, signal: .dm, urgency: .high, mode: mode)
            #expect(other.neutralPresentation.category == "batch")
            #expect(other.neutralPresentation.native == batch.native)
        }
    }

    @Test func summaryOfQuietEventsIsQuiet() throws {
        let batch = try RuleBook.builtIn().renderSummary(count: 7, signal: .reaction, urgency: .low, mode: .alert)
        #expect(batch.native["ios"] == #"{"mutable-content":1,"badge":1,"interruption-level":"passive"}"#)
    }

    @Test func summaryFollowsItsRules() throws {
        let rules = """
            rules:
              - { match: { kinds: [1] }, title: a, apns: { sound: a, badge: 2, interruption-level: time-sensitive } }
              - { match: { kinds: [7] }, title: b, apns: { sound: b, badge: 2, interruption-level: time-sensitive } }
              - { match: { kinds: [6] }, drop: true }
            """
        #expect(
            try batch(rules).native["ios"]
                == #"{"mutable-content":1,"sound":"default","badge":2,"interruption-level":"time-sensitive"}"#
        )
        #expect(try batch("rules: [{ match: { kinds: [1] }, title: a }]").native["ios"] == #"{"mutable-content":1}"#)
    }

    @Test func summaryIgnoresASingleCriticalSound() throws {
        let rules = """
            rules:
              - { match: { kinds: [1] }, title: a, apns: { sound: { critical: 1, name: alarm.caf } } }
              - { match: { kinds: [6] }, apns: { content-available: 1 } }
            """
        #expect(try batch(rules).native["ios"]?.contains("alarm.caf") == true)
        let others = rules + "\n  - { match: { kinds: [7] }, title: b }"
        #expect(try batch(others).native["ios"] == #"{"mutable-content":1,"sound":"default"}"#)
    }

    /// An app that lets FCM draw would show no message without a notification.
    @Test func summaryIsShownByFCMIfItsRulesAre() throws {
        let rules =
            "rules: [{ match: { kinds: [1] }, title: a, fcm: { style: notification, notification: { channelId: c } } }]"
        let native = #"{"style":"notification","notification":{"channelId":"c"}}"#
        #expect(try batch(rules).native["android"] == native)
        #expect(try batch("rules: [{ match: { kinds: [1] }, title: a }]").native["android"] == nil)
    }

    @Test(arguments: Mode.allCases)
    func summaryExpiresInEveryMode(_ mode: Mode) throws {
        let rules = "rules: []\nsummary: { title: b, expires: 4h }\nnudge: { title: n"
        let end = Timestamp(milliseconds: 1_000_000)
        #expect(try batch(rules + " }", .normal, mode).expiresAt == end + .hours(4))
        let nudge = try batch(rules + ", expires: 1h }", .normal, mode)
        #expect(nudge.expiresAt == end + .hours(mode == .nudge ? 1 : 4))
    }

    @Test func summaryAcceptsEveryRuleKey() throws {
        let batch = try batch(
            #"""
            rules: [{ match: { kinds: [1] }, title: a, apns: { sound: default } }]
            summary:
              title: "{{count}} things"
              subtitle: s
              body: b
              category: many
              thread: t
              collapse: c
              url: app://inbox
              urgency: low
              expires: 4h
              actions: [{ id: open, label: Open }]
              data: { many: !!int "{{count}}" }
              apns: { badge: "{{count}}", stale: 1 }
            """#.replacing(", stale: 1", with: "")
        )
        #expect(batch.title == "7 things" && batch.subtitle == "s" && batch.body == "b" && batch.category == "many")
        #expect(batch.thread == "t" && batch.collapseKey == "c" && batch.url == "app://inbox" && batch.urgency == .low)
        #expect(batch.actions.map(\.id) == ["open"] && batch.data == #"{"many":7}"#)
        #expect(batch.native["ios"] == #"{"badge":7}"# && batch.expiresAt == 1_000_000 + .hours(4))
    }

    @Test(arguments: [
        (
            "summary: { data: { a: \"{{event.id}}\" } }",
            "summary.data.a: there is no variable 'event.id'; there are count"
        ),
        ("nudge: { apns: { badge: \"{{zap.amount}}\" } }", "nudge.apns.badge: there is no variable 'zap.amount'"),
        ("nudge: { url: \"app://{{event.id}}\" }", "nudge.url: there is no variable 'event.id'"),
        ("summary: { apns: { push-type: voip } }", "summary.apns.push-type: expected alert, because"),
        ("nudge: { apns: { event: end } }", "nudge.apns.event: "),
        ("summary: { event_data: false }", "summary: unknown key 'event_data'"),
        ("summary: { match: { kinds: [1] } }", "summary: unknown key 'match'"),
        ("summary: { urgency: loud }", "summary.urgency: 'loud' is none of low, normal, high"),
    ])
    func misplacedKeyIsAnError(text: String, mistake: String) {
        let error = #expect(throws: (any Error).self) { try batch("rules: []\n" + text) }
        #expect(error.map { "\($0)" }?.contains(mistake) == true, "\(error.map { "\($0)" } ?? "")")
    }
}
