import Core
import Foundation
import Nostr
import PlatformTestSupport
import Push
import Testing
import TimeTestSupport

@testable import Rules

/// The blocks that plugins receive.
@Suite struct BlockRenderingTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let keys: String
        let platform: String
        let json: String

        init(_ keys: String, _ platform: String, _ json: String) {
            self.keys = keys
            self.platform = platform
            self.json = json
        }

        var testDescription: String { keys }
    }

    private static let id = Fixture.eventID.hex

    static let cases = [
        Case("apns: { badge: 3, sound: default }", "ios", #"{"badge":3,"sound":"default"}"#),
        Case(
            "title: t, apns: { mutable-content: true, content-available: 1 }",
            "ios",
            #"{"mutable-content":1,"content-available":1}"#
        ),
        Case("apns: { alert: \"{{author.name}} & co\" }", "ios", #"{"alert":"alice & co"}"#),
        Case(
            "apns: { alert: { loc-key: LIKED, loc-args: [\"{{author.name}}\", 2], action-loc-key: null } }",
            "ios",
            #"{"alert":{"loc-key":"LIKED","loc-args":["alice","2"],"action-loc-key":null}}"#
        ),
        Case(
            "apns: { sound: { critical: 1, name: siren.aiff, volume: 0.75 } }",
            "ios",
            #"{"sound":{"critical":1,"name":"siren.aiff","volume":0.75}}"#
        ),
        Case("apns: { badge: \"{{count}}\" }", "ios", #"{"badge":1}"#),
        Case("apns: { badge: \"{{ event.created_at }}\" }", "ios", #"{"badge":1708000000}"#),
        // The event is not a zap, and its kind is unknown: a value that is not a number is omitted with its key.
        Case("apns: { badge: \"{{zap.amount}}\", sound: a }", "ios", #"{"sound":"a"}"#),
        Case("ntfy: { priority: \"{{event.kind}}\", tags: [zap] }", "ntfy", #"{"tags":["zap"]}"#),
        Case(
            "apns: { interruption-level: \"{{#zap}}active{{/zap}}{{^zap}}passive{{/zap}}\" }",
            "ios",
            #"{"interruption-level":"passive"}"#
        ),
        Case("apns: { interruption-level: \"{{author.name}}\", badge: 0 }", "ios", #"{"badge":0}"#),
        Case(
            "apns: { events: update, content-state: { n: 1, on: true, at: [1.5, null, \"{{event.id}}\"] } }",
            "ios",
            #"{"event":"update","content-state":{"n":1,"on":true,"at":[1.5,null,"\#(id)"]}}"#
        ),
        Case(
            "apns: { event: update, content-state: { at: !!int \"{{event.created_at}}\", kind: !!float \"{{event.kind}}\" } }",
            "ios",
            #"{"event":"update","content-state":{"at":1708000000,"kind":7}}"#
        ),
        Case(
            "fcm: { priority: HIGH, ttl: 4h, notification: { eventTime: 1772323199, vibrateTimings: [0.3s, 1s, 250] } }",
            "android",
            #"{"priority":"HIGH","ttl":"14400s","notification":{"eventTime":"2026-02-28T23:59:59Z","vibrateTimings":["0.3s","1s","250s"]}}"#
        ),
        Case(
            "webpush: { ttl: 1d, timestamp: now, declarative: false, vibrate: [200, 100] }",
            "web",
            #"{"ttl":86400,"timestamp":1771934400000,"declarative":false,"vibrate":[200,100]}"#
        ),
        Case("unifiedpush: { who: \"{{author.name}}\", n: 1 }", "unifiedpush", #"{"who":"alice","n":1}"#),
        Case(
            "ntfy: { cache: no, firebase: \"yes\", markdown: true }",
            "ntfy",
            #"{"cache":"no","firebase":"yes","markdown":true}"#
        ),
        Case(
            "gotify: { priority: 8, extras: { \"client::display\": { contentType: text/plain } } }",
            "gotify",
            #"{"priority":8,"extras":{"client::display":{"contentType":"text/plain"}}}"#
        ),
        Case("native: { matrix: { room: \"!{{event.kind}}\" } }", "matrix", #"{"room":"!7"}"#),
    ]

    @Test(arguments: cases)
    func rendersAsCompactJSON(_ expected: Case) throws {
        #expect(try BlockFixture.native(expected.platform, expected.keys) == expected.json)
    }

    @Test(
        arguments: [
            ("1771934400", 1_771_934_400), ("now", 1_771_934_400), ("+4h", 1_771_948_800), ("-30m", 1_771_932_600),
            ("2d", 1_772_107_200), ("now+1h30m", 1_771_939_800), ("\"{{event.created_at}}\"", 1_708_000_000),
            ("\"{{event.created_at}}+1w\"", 1_708_604_800), ("\"{{event.created_at}}-1s\"", 1_707_999_999),
        ]
    )
    func timestampsAreSecondsSince1970(_ text: String, _ seconds: Int) throws {
        let json = try BlockFixture.native("ios", "apns: { event: end, dismissal-date: \(text) }")
        #expect(json == #"{"event":"end","dismissal-date":\#(seconds)}"#)
    }

    @Test(arguments: ["2d2", "now4h", "+", "4", "4x", "\"{{event.created_at}}4h\"", "\"{{count}}\"", "9999999999d"])
    func invalidTimestampIsRefused(_ text: String) {
        #expect(
            BlockFixture.mistakes("apns: { event: end, dismissal-date: \"\(text.filter { $0 != "\"" })\" }").count == 1
        )
    }

    @Test(arguments: [Int64.min, -1, Int64.max, 253_402_300_800] as [Int64])
    func timestampsOutOfRangeAreOmitted(_ createdAt: Int64) throws {
        var input = Fixture.input(kind: 7)
        input.event = event(createdAt: createdAt)
        let keys =
            "apns: { event: end, dismissal-date: \"{{event.created_at}}\", stale-date: \"{{event.created_at}}+4h\" }"
        #expect(try BlockFixture.native("ios", keys, input) == #"{"event":"end"}"#)
    }

    /// Zaps of part of a satoshi are numbers, but no whole ones.
    @Test(arguments: [(21_000, "21", "21"), (21_050, "21.05", nil)] as [(UInt64, String, String?)])
    func zapIsANumber(_ millisats: UInt64, _ number: String, _ whole: String?) throws {
        var input = Fixture.input(kind: 9735)
        input.zap = Fixture.zap(millisats: millisats)
        let json = try BlockFixture.native(
            "ios",
            "apns: { event: update, content-state: {}, relevance-score: \"{{zap.amount}}\" }",
            input
        )
        #expect(json == #"{"event":"update","content-state":{},"relevance-score":\#(number)}"#)
        let badge = try BlockFixture.native("ios", "title: t, apns: { badge: \"{{zap.amount}}\" }", input)
        #expect(badge == (whole.map { #"{"badge":\#($0)}"# } ?? "{}"))
    }

    @Test(
        arguments: [
            "\"}, \"aps\": {", "\\", "\\\"", "\u{0}\u{1}\u{1F}\u{7F}", "a\u{2028}b", "\r\n\t", "{{event.id}}",
            "😀\u{FE0F}",
            "\",\"x\":\"", "</script>", "\\u0022", String(repeating: "\"\\", count: 500),
        ]
    )
    func untrustedTextStaysInsideItsQuotes(_ hostile: String) throws {
        let keys = """
            apns: { alert: { title: "{{event.content}}", loc-key: K, loc-args: ["{{{event.content}}}"] }, \
            thread-id: "<{{author.name}}>" }, data: { k: { deep: "{{event.content}}" } }, event_data: false
            """
        let notification = try BlockFixture.render(keys, Fixture.input(kind: 7, content: hostile, author: hostile))
        let block = try jsonObject(try #require(notification.native["ios"]))
        #expect(Set(block.allKeys.compactMap { $0 as? String }) == ["alert", "thread-id"])
        let alert = try #require(block["alert"] as? NSDictionary)
        #expect(Set(alert.allKeys.compactMap { $0 as? String }) == ["title", "loc-key", "loc-args"])
        #expect(alert["loc-key"] as? String == "K")
        #expect((alert["loc-args"] as? [String])?.count == 1)
        let thread = try #require(block["thread-id"] as? String)
        #expect(thread.hasPrefix("<") && thread.hasSuffix(">"))
        let data = try jsonObject(notification.data)
        #expect(data.allKeys.compactMap { $0 as? String } == ["k"])
        #expect(((data["k"] as? NSDictionary)?["deep"] as? String) != nil)
    }

    @Test func onlyBlocksOfReadableOrSealedNotificationsAreRendered() throws {
        let keys = "title: t, apns: { badge: 1 }, data: { k: v }"
        for mode in [Mode.wake, .nudge] {
            let notification = try BlockFixture.render(keys, mode: mode)
            #expect(notification.native.isEmpty && notification.data.isEmpty)
        }
        #expect(try BlockFixture.render(keys, mode: .sealed).native["ios"] == #"{"badge":1}"#)
    }

    private func event(createdAt: Int64) -> Event {
        let event = Fixture.event(kind: 7, content: "")
        return Event(
            id: event.id,
            pubkey: event.pubkey,
            createdAt: createdAt,
            kind: event.kind,
            tags: [],
            content: "",
            signature: event.signature
        )
    }
}

/// `data`, `event_data` and `expires`.
@Suite struct CustomKeysTests {
    @Test func ownDataKeysAreAddedToTheEvents() throws {
        let data = try jsonObject(
            try BlockFixture.render("data: { from: \"{{author.name}}\", list: [1, \"{{event.kind}}\"] }").data
        )
        #expect(
            data == [
                "event_id": Fixture.eventID.hex, "author_pubkey": Fixture.author.hex, "kind": 7,
                "created_at": 1_708_000_000, "from": "alice", "list": [1, "7"],
            ]
        )
    }

    /// Plugins permanently reject more.
    @Test func dataKeysAreLimitedToThePluginsMaximum() {
        func keys(_ count: Int) -> String { (1...count).map { "k\($0): 1" }.joined(separator: ", ") }
        #expect(BlockFixture.mistakes("data: { \(keys(249)) }").isEmpty)
        #expect(BlockFixture.mistakes("data: { \(keys(250)) }").count == 1)
        #expect(BlockFixture.mistakes("event_data: false, data: { \(keys(256)) }").isEmpty)
        #expect(
            BlockFixture.mistakes("event_data: false, data: { \(keys(257)) }") == [
                "rules[0].data: expected at most 256 keys; put the rest into an object in one of them"
            ]
        )
    }

    @Test func eventDataCanBeOmitted() throws {
        #expect(try BlockFixture.render("event_data: false").data.isEmpty)
        #expect(try BlockFixture.render("event_data: false, data: {}").data.isEmpty)
        #expect(try BlockFixture.render("event_data: false, data: { event_id: x }").data == #"{"event_id":"x"}"#)
    }

    @Test(
        arguments: [
            ("title: t", true), ("event_data: false", false),
            ("event_data: false, title: \"{{referenced.id}}\"", false),
            ("event_data: false, title: \"{{referenced.content}}\"", true),
            ("event_data: false, data: { k: \"{{referenced.kind}}\" }", true),
        ]
    )
    func referencedEventIsNeededIfATextUsesIt(_ keys: String, _ isNeeded: Bool) throws {
        let book = try RuleBook(yaml: BlockFixture.yaml(keys), name: "r")
        let needs = try #require(book.rules.first).needs(in: .alert)
        #expect(needs.contains(.referencedEvent) == isNeeded)
    }

    @Test func nameIsNeededIfABlockUsesIt() throws {
        func needs(_ keys: String) throws -> RuleNeeds {
            let book = try RuleBook(yaml: BlockFixture.yaml(keys), name: "r")
            return try #require(book.rules.first).needs(in: .alert)
        }
        #expect(try needs("title: t").contains(.authorName) == false)
        #expect(try needs("title: t, data: { who: \"{{author.name}}\" }").contains(.authorName))
        #expect(try needs("title: t, webpush: { tag: \"{{author.name}}\" }").contains(.authorName))
    }

    @Test(
        arguments: [("1m", .minutes(1)), ("28d", .days(28)), ("1d12h", .hours(36)), ("90s", .seconds(90))]
            as [(String, Duration)]
    )
    func expiresFromNowInEveryMode(_ text: String, _ span: Duration) throws {
        for mode in Mode.allCases {
            let notification = try BlockFixture.render("title: t, expires: \(text)", mode: mode)
            #expect(notification.expiresAt == BlockFixture.now + span)
        }
    }

    @Test(
        arguments: [("", 3_600), (", expires: 2h", 3_600), (", expires: 5m", 300), ("", -1)] as [(String, Int)],
        Mode.allCases
    )
    func expiresWithItsEvent(_ test: (keys: String, seconds: Int), _ mode: Mode) throws {
        let seconds = BlockFixture.now.seconds + (test.seconds < 0 ? -1 : 3_600)
        let input = Fixture.input(kind: 7, tags: [["expiration", "\(seconds)"]])
        let notification = try BlockFixture.render("title: t" + test.keys, input, mode: mode)
        #expect(notification.expiresAt == BlockFixture.now + .seconds(test.seconds))
    }

    @Test func transportDecidesUnsetKeys() throws {
        #expect(try BlockFixture.render("title: t").expiresAt == 0)
        #expect(try BlockFixture.render("title: t, expires: 4h", now: 0).expiresAt == 0)
    }
}
