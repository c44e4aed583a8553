import Foundation
import Nostr
import PlatformTestSupport
import Push
import Testing
import TimeTestSupport

@testable import Rules

/// Values that variables make invalid for their key.
@Suite struct LeftOutTests {
    private func rendering(_ keys: String, _ tags: [[String]], mode: Mode = .alert) throws -> Rendering {
        let book = try RuleBook(yaml: BlockFixture.yaml(keys), name: "r")
        let rule = try #require(book.rules.first)
        let input = Fixture.input(kind: 7, tags: tags)
        return rule.rendering(input, signal: .reaction, mode: mode, now: BlockFixture.now)
    }

    @Test(arguments: [
        ("0.7", #"{"badge":1,"relevance-score":0.7}"#, []), ("1", #"{"badge":1,"relevance-score":1}"#, []),
        ("12.7", #"{"badge":1}"#, ["apns.relevance-score"]), ("-0.1", #"{"badge":1}"#, ["apns.relevance-score"]),
        ("", #"{"badge":1}"#, ["apns.relevance-score"]), ("high", #"{"badge":1}"#, ["apns.relevance-score"]),
    ])
    func scoreOfAnAlertIsFromZeroToOne(_ score: String, _ json: String, _ keys: [String]) throws {
        let rule = "title: t, apns: { badge: 1, relevance-score: \"{{event.tag.score}}\" }"
        let rendering = try rendering(rule, [["score", score]])
        #expect(rendering.notification.native["ios"] == json)
        #expect(rendering.keysLeftOut(for: "ios") == keys)
        // Other platforms are not affected.
        #expect(rendering.keysLeftOut(for: "android").isEmpty && rendering.keysWithholding("ios").isEmpty)
    }

    @Test func scoreOfALiveActivityIsAnyNumber() throws {
        let rule = "apns: { event: update, content-state: {}, relevance-score: \"{{event.tag.score}}\" }"
        let rendering = try rendering(rule, [["score", "12.7"]])
        #expect(rendering.notification.native["ios"]?.contains(#""relevance-score":12.7"#) == true)
    }

    @Test(arguments: [
        ("12", "12"), ("-3", "-3"), ("12.0", "12"), ("9007199254740993", "9007199254740993"), ("12.7", nil),
        ("1e+20", nil), ("100000000000000000000", nil), ("", nil), (" ", nil), ("many", nil),
        ("9223372036854775808", nil),
    ])
    func intIsAWholeNumber(_ value: String, _ json: String?) throws {
        let rendering = try rendering(
            "event_data: false, data: { a: 1, deep: { n: !!int \"{{event.tag.n}}\" } }",
            [["n", value]]
        )
        #expect(rendering.notification.data == #"{"a":1,"deep":{\#(json.map { "\"n\":" + $0 } ?? "")}}"#)
        #expect(rendering.keysLeftOut(for: "web") == (json == nil ? ["data.deep.n"] : []))
    }

    @Test(arguments: ["12.7", "1e+20", "1e400"])
    func numberLiteralUnderIntIsChecked(_ number: String) {
        let told = BlockFixture.mistakes("title: t, data: { m: !!int \(number) }")
        #expect(told == (number == "1e400" ? [] : ["rules[0].data.m: expected a whole number under !!int"]))
    }

    @Test func missingContentStateKeyWithholdsThePushFromIPhones() throws {
        let rule = """
            title: t, apns: { event: update, content-state: { score: !!int "{{event.tag.score}}", at: { over: 1 } } }, \
            fcm: { priority: HIGH }
            """
        let whole = try rendering(rule, [["score", "3"]])
        #expect(
            whole.notification.native["ios"] == #"{"event":"update","content-state":{"score":3,"at":{"over":1}}}"#
        )
        #expect(whole.keysWithholding("ios").isEmpty)
        for tags in [[["score", "3.5"]], [["score", ""]], []] {
            let rendering = try rendering(rule, tags)
            #expect(rendering.notification.native == ["android": #"{"priority":"HIGH"}"#])
            #expect(rendering.keysWithholding("ios") == ["apns.content-state.score"])
            #expect(rendering.keysWithholding("android").isEmpty)
        }
        // A notification without a block lacks none of its keys.
        #expect(try rendering(rule, [], mode: .nudge).keysWithholding("ios").isEmpty)
    }

    @Test(arguments: [
        ("content-state: { a: { b: [1, !!int \"{{event.tag.n}}\"] } }", "content-state.a.b[1]"),
        ("content-state: {}, attributes: { id: !!int \"{{event.tag.n}}\" }", "attributes.id"),
        ("content-state: {}, attributes: {}, attributes-type: \"{{event.tag.type}}\"", "attributes-type"),
    ])
    func missingKeyTheAppDecodesWithholdsThePush(_ block: String, _ key: String) throws {
        let attributes = block.contains("attributes:") ? "" : ", attributes: {}"
        let type = block.contains("attributes-type") ? "" : ", attributes-type: A"
        let rendering = try rendering("title: t, apns: { event: start, \(block)\(attributes)\(type) }", [["n", "x"]])
        #expect(rendering.keysWithholding("ios") == ["apns." + key])
        #expect(rendering.notification.native["ios"] == nil)
    }

    @Test func onlyRulesWithSuchBlocksMayWithhold() throws {
        func mayWithhold(_ keys: String) throws -> Bool {
            let book = try RuleBook(yaml: BlockFixture.yaml(keys), name: "r")
            return try #require(book.rules.first).mayWithhold("ios")
        }
        #expect(try mayWithhold("apns: { event: update, content-state: { n: !!int \"{{event.tag.n}}\" } }"))
        #expect(try !mayWithhold("apns: { event: update, content-state: { n: \"{{event.tag.n}}\", m: 1 } }"))
        #expect(try !mayWithhold("title: t, apns: { badge: \"{{event.tag.n}}\", sound: \"{{event.tag.n}}\" }"))
    }

    /// ntfy rejects an action without a URL with 400, and the whole message is lost.
    @Test func incompleteNtfyButtonIsOmitted() throws {
        let rule = """
            title: t, ntfy: { actions: [{ action: view, label: A, url: "https://a.example" }, \
            { action: view, label: B, url: "{{event.tag.r}}" }] }
            """
        let rendering = try rendering(rule, [["r", "javascript:alert(1)"]])
        #expect(
            rendering.notification.native["ntfy"]
                == #"{"actions":[{"action":"view","label":"A","url":"https://a.example"}]}"#
        )
        #expect(rendering.keysLeftOut(for: "ntfy") == ["ntfy.actions[1].url"])
        #expect(rendering.keysWithholding("ntfy").isEmpty)
    }

    @Test(arguments: [
        ("https://a.example/b.png", true), ("http://a.example/b.png", true), ("javascript:alert(1)", false),
        ("JavaScript:alert(1)", false), ("data:image/png;base64,AAAA", false), ("nostr:note1", false),
        ("/on-our-site.png", false), ("", false), ("file:///etc/passwd", false),
    ])
    func imageFromAnEventMustBeAWebURL(_ url: String, _ isTaken: Bool) throws {
        let rule = """
            title: t, webpush: { lang: en, icon: "{{event.tag.p}}", image: "{{event.tag.p}}", badge: "{{event.tag.p}}" }
            """
        let rendering = try rendering(rule, [["p", url]])
        let block = try jsonObject(try #require(rendering.notification.native["web"]))
        #expect(block["lang"] as? String == "en")
        for key in ["icon", "image", "badge"] { #expect(block[key] as? String == (isTaken ? url : nil)) }
        #expect(
            rendering.keysLeftOut(for: "web") == (isTaken ? [] : ["webpush.icon", "webpush.image", "webpush.badge"])
        )
    }

    @Test(arguments: [
        ("https://a.example/i.png", true), ("/i.png", true), ("i.png", true), ("a/b:c.png", true),
        ("javascript:alert(1)", false), ("nostr:note1", false), ("", false), ("a b.png", false),
    ])
    func configuredImageMayBeRelative(_ url: String, _ isTaken: Bool) {
        #expect(BlockFixture.mistakes("title: t, webpush: { icon: \"\(url)\" }").isEmpty == isTaken)
    }

    @Test func relativeImageMayHaveVariables() throws {
        let rule = "title: t, webpush: { icon: \"/avatars/{{event.tag.p}}.png\" }"
        let rendering = try rendering(rule, [["p", "javascript:x/../y"]])
        #expect(rendering.notification.native["web"] == #"{"icon":"/avatars/javascript%3Ax%2F..%2Fy.png"}"#)
    }

    @Test func invalidURLIsReportedAsOmitted() throws {
        let rule = """
            title: t, url: "{{event.tag.r}}", actions: [{ id: a, label: b, url: "nostr:{{event.tag.e}}" }, { id: c, label: d }]
            """
        let rendering = try rendering(rule, [["r", "javascript:alert(1)"]])
        #expect(rendering.notification.url.isEmpty)
        #expect(rendering.keysLeftOut(for: nil) == ["url", "actions[0].url"])
        let whole = try self.rendering(rule, [["r", "https://a.example"], ["e", "x"]])
        #expect(whole.notification.url == "https://a.example" && whole.keysLeftOut(for: "ios").isEmpty)
        // A rule that tests for the value omits nothing.
        let asked = "title: t, url: \"{{#event.tag.r}}https://a.example/{{event.tag.r}}{{/event.tag.r}}\""
        #expect(try self.rendering(asked, []).keysLeftOut(for: "ios").isEmpty)
    }

    @Test func categoryMustBeRegistered() throws {
        let keys = "title: t, apns: { badge: 1, category: \"kind_{{event.tag.k}}\" }"
        let yaml = BlockFixture.yaml(keys, top: "categories: [kind_1, kind_7]")
        let rule = try #require(try RuleBook(yaml: yaml, name: "r").rules.first)
        func json(_ kind: String) -> String? {
            let input = Fixture.input(kind: 7, tags: [["k", kind]])
            return rule.render(input, signal: .reaction, mode: .alert).native["ios"]
        }
        #expect(json("7") == #"{"badge":1,"category":"kind_7"}"#)
        #expect(json("8") == #"{"badge":1}"#)
    }

    @Test(arguments: CustomKeys.reserved(.builtIn))
    func dataCannotReplaceNotificationKeys(_ key: String) {
        let told = BlockFixture.mistakes("title: t, data: { \(key): x, mine: { \(key): x } }")
        #expect(told.count == 1 && told[0].hasPrefix("rules[0].data.\(key): "), "\(told)")
    }
}
