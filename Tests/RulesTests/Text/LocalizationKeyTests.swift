import Foundation
import Notifications
import PlatformTestSupport
import Testing
import YAMLReading

@testable import Rules

@Suite struct LocalizationKeyTests {
    private func native(_ keys: String) throws -> (ios: NSDictionary, android: NSDictionary?, title: String) {
        let book = try RuleBook(yaml: "version: 1\nrules:\n  - { match: { kinds: 1 }, \(keys) }", name: "r")
        let notification = try #require(
            book.notification(for: Fixture.input(kind: 1, author: "a\n\"b", signal: .reply))
        )
        let android = try notification.native["android"].map(jsonObject)
        return (try jsonObject(try #require(notification.native["ios"])), android, notification.title)
    }

    private func mistakes(_ keys: String) -> [String] {
        do {
            _ = try RuleBook(yaml: "version: 1\nrules:\n  - { match: { kinds: 1 }, \(keys) }", name: "r")
            return []
        } catch {
            return error.all.map(\.message)
        }
    }

    private static let title =
        #"title: { loc-key: LIKED, loc-args: ["{{author.name}}", x], default: "{{author.name}} liked", de: gefällt }"#

    @Test func namesGoToThePlatformsThatTakeThem() throws {
        let keys =
            Self.title + ", subtitle: { loc-key: SUB, default: s }, body: { loc-key: BODY, loc-args: [], default: b }"
        let (ios, android, title) = try native(keys)
        #expect(
            ios == [
                "alert": [
                    "title-loc-key": "LIKED", "title-loc-args": ["a \"b", "x"], "subtitle-loc-key": "SUB",
                    "loc-key": "BODY", "loc-args": [],
                ] as NSDictionary
            ]
        )
        #expect(
            android == [
                "notification": [
                    "titleLocKey": "LIKED", "titleLocArgs": ["a \"b", "x"], "bodyLocKey": "BODY", "bodyLocArgs": [],
                ] as NSDictionary
            ]
        )
        // Everybody else gets the text.
        #expect(title == "a \"b liked")
    }

    @Test func blocksKeepWhatTheySayBesides() throws {
        let (ios, android, _) = try native(
            Self.title
                + #", apns: { sound: default, badge: 1, alert: { launch-image: "l.png" } }, fcm: { notification: { icon: "{{author.name}}" } }"#
        )
        let alert = try #require(ios["alert"] as? NSDictionary)
        #expect(ios["sound"] as? String == "default" && ios["badge"] as? Int == 1)
        #expect(alert["launch-image"] as? String == "l.png" && alert["title-loc-key"] as? String == "LIKED")
        let notification = try #require(android?["notification"] as? NSDictionary)
        #expect(notification["icon"] as? String == "a \"b" && notification["titleLocKey"] as? String == "LIKED")
    }

    @Test func nameOfTheAuthorIsNeededForArguments() throws {
        let book = try RuleBook(
            yaml: #"{version: 1, rules: [{ title: { loc-key: K, loc-args: ["{{author.name}}"], default: x } }]}"#,
            name: "r"
        )
        #expect(book.rules.first?.needs(in: .alert).contains(.authorName) == true)
    }

    @Test(arguments: [
        #"title: { loc-key: "", default: x }"#, #"title: { loc-key: "A B", default: x }"#,
        #"title: { loc-key: "{{signal}}", default: x }"#, "title: { loc-args: [a], default: x }",
        "title: { loc-key: K }", "title: { loc-key: K, loc-args: x, default: x }",
        #"title: { loc-key: K, loc-args: ["{{nobody}}"], default: x }"#,
        "title: { loc-key: K, default: x }, apns: { alert: text }",
        "title: { loc-key: K, default: x }, apns: { alert: { title-loc-key: L } }",
        "title: { loc-key: K, default: x }, fcm: { notification: { titleLocKey: L } }",
    ])
    func whatMakesNoSenseIsAMistake(_ keys: String) {
        #expect(mistakes(keys).count == 1, "\(mistakes(keys))")
    }
}
