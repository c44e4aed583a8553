import Nostr
import PlatformTestSupport
import Push
import Storage
import Testing
import TimeTestSupport

@testable import Rules

/// Pacing set by rules, and the defaults from the push services' tables.
@Suite struct RulePaceTests {
    private func mistakes(_ rule: String) -> [String] {
        do {
            _ = try RuleBook(
                yaml: "version: 1\nrules:\n  - { name: r, match: { kinds: [1] }, \(rule) }\n",
                name: "r.yaml"
            )
            return []
        } catch {
            return error.all.map(\.description)
        }
    }

    private func push(_ rule: String, on platform: String = "ios", in mode: Mode = .alert) throws -> PacedPush {
        let yaml = "version: 1\nrules:\n  - { name: r, match: { kinds: [1] }, \(rule) }\n"
        return try #require(try RuleBook(yaml: yaml, name: "r.yaml").rules.first).push(on: platform, in: mode)
    }

    @Test(arguments: [
        ("title: x", "alert", PushNature.alert, PushPace.batch),
        ("apns: { alert: x }", "alert", .alert, .batch),
        ("title: x, apns: { content-available: 1 }", "alert", .alert, .batch),
        ("apns: { content-available: 1 }", "background", .silent, .latest),
        ("apns: { push-type: background }", "background", .silent, .latest),
        ("data: { a: b }", "data", .silent, .latest),
        ("apns: { badge: 3 }", "badge", .special, .latest),
        ("apns: { event: update, content-state: {} }", "liveactivity", .special, .latest),
        ("apns: { content-state: {} }", "liveactivity", .special, .latest),
        ("apns: { event: end }", "liveactivity", .special, .immediate),
        ("apns: { events: end }", "liveactivity", .special, .immediate),
        (
            "title: x, apns: { event: start, content-state: {}, attributes-type: A, attributes: {} }", "liveactivity",
            .special, .immediate
        ),
        ("title: x, apns: { push-type: voip }", "voip", .special, .immediate),
        ("title: x, apns: { push-type: pushtotalk }", "pushtotalk", .special, .latest),
        ("title: x, apns: { push-type: complication }", "complication", .special, .latest),
        ("apns: { push-type: location }", "location", .special, .latest),
        ("apns: { push-type: fileprovider }", "fileprovider", .special, .latest),
        ("apns: { push-type: mdm }", "mdm", .special, .latest),
        ("apns: { push-type: widgets }", "widgets", .special, .latest),
        ("apns: { push-type: controls }", "controls", .special, .latest),
    ])
    func apnsPushTypesHaveTheirPushKind(rule: String, type: String, nature: PushNature, pace: PushPace) throws {
        let push = try push(rule)
        #expect(push.type == type && push.nature == nature && push.pace == pace)
    }

    @Test(arguments: [
        ("android", "title: x", PacedPush.alert), ("android", "data: { a: b }", .data),
        ("android", "fcm: { style: notification, notification: { titleLocKey: X } }", .alert),
        ("web", "title: x", .alert), ("ntfy", "apns: { content-available: 1 }", .data),
        ("myplugin", "title: x, apns: { push-type: voip }", .alert), ("myplugin", "apns: { push-type: voip }", .data),
    ])
    func otherPlatformsShowTextsOrStaySilent(platform: String, rule: String, expected: PacedPush) throws {
        #expect(try push(rule, on: platform) == expected)
    }

    @Test func ruleMaySetItsPushKind() throws {
        #expect(try push("title: x, pace: immediate").pace == .immediate)
        #expect(try push("title: x, pace: latest").pace == .latest)
        #expect(try push("title: x, pace: latest, apns: { push-type: voip }").pace == .latest)
        #expect(try push("pace: batch, apns: { content-available: 1 }").pace == .batch)
        // Only a visible text, or an invisible push, can show the number of events that it covers.
        #expect(try push("pace: batch, apns: { content-state: {} }").pace == .latest)
        #expect(try push("pace: latest, apns: { event: end }").pace == .immediate)
    }

    @Test func wakeUpsAreCounted() throws {
        for rule in ["title: x", "title: x, pace: latest", "apns: { content-state: {} }"] {
            let push = try push(rule, in: .wake)
            #expect(push.nature == .silent && push.pace == .batch)
        }
        #expect(try push("title: x, mode: wake").nature == .silent)
        #expect(try push("apns: { push-type: voip }", in: .wake).pace == .immediate)
    }

    @Test func collapseKeyGroupsPushes() throws {
        func key(_ rule: String, _ tags: [[String]] = []) throws -> String {
            let yaml = "version: 1\nrules:\n  - { match: { kinds: [1] }, \(rule) }\n"
            let rule = try #require(try RuleBook(yaml: yaml, name: "r.yaml").rules.first)
            return rule.paceKey(of: rule.push(on: "ios", in: .alert), Fixture.input(kind: 1, tags: tags), now: 0)
        }
        let stream = "name: a, title: x, pace: latest, key: '{{event.tag.d}}'"
        #expect(try key(stream, [["d", "1"]]) == key(stream, [["d", "1"]]))
        #expect(try key(stream, [["d", "1"]]) != key(stream, [["d", "2"]]))
        #expect(try key("name: b, title: y, pace: latest, key: '1'") == key(stream, [["d", "1"]]))
        // Without one, each rule's alerts are separate, and a device has one Live Activity.
        #expect(try key("name: a, title: x, pace: latest") != key("name: b, title: x, pace: latest"))
        #expect(try key("name: a, apns: { event: end }") == key("name: b, apns: { content-state: {} }"))
        #expect(try key("name: a, apns: { event: end }") != key("name: a, apns: { push-type: widgets }"))
    }

    @Test func paceErrorsAreReported() {
        #expect(mistakes("title: x, pace: later")[0].contains("rules[0].pace: "))
        #expect(
            mistakes("title: x, key: a") == [
                "r.yaml:3:54: rules[0].key: 'pace: latest' is missing: 'key' says which pushes replace each other"
            ]
        )
        #expect(mistakes("title: x, pace: latest, key: '{{event.nonsense}}'").count == 1)
        #expect(mistakes("title: x, key: a, apns: { event: end }") == [])
    }

    @Test func collapseKeyVariablesAreNeeded() throws {
        let yaml =
            "version: 1\nrules:\n  - { match: { kinds: [1] }, event_data: false, title: x, pace: latest, key: '{{author.name}}' }\n"
        #expect(try RuleBook(yaml: yaml, name: "r.yaml").rules.first?.needs(in: .alert) == .authorName)
    }

    @Test func onlyIPhonesHaveABackgroundPushLimit() {
        #expect(PlatformCatalog.builtIn.silentPushesPerHour == ["ios": 3])
    }
}
