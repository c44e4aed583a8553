import JSON
import Notifications
import PlatformTestSupport
import Platforms
import Testing
import Units

@testable import Rules

/// Requests that differ in their texts share what is read: each gets the rule that it would have alone.
struct RequestedRulesTests {
    private static let books = ["Something", "Else"].compactMap { title in
        try? RuleBook(yaml: "version: 1\nrules: []\nnudge: { title: \(title) }", name: "test", platforms: .builtIn)
    }

    /// Requests in pairs or more of one form, and some that are wrong.
    private static let requests = [
        #"{"title": "a"}"#, #"{"title": "b"}"#, #"{"title": "{{event.content}}"}"#, #"{"title": ""}"#,
        #"{"title": "a", "body": "b\nc"}"#, #"{"body": "d", "title": "e"}"#, #"{"title": "f", "body": ""}"#,
        #"{"body": "b", "mode": "nudge"}"#, #"{"body": "c", "mode": "nudge"}"#, #"{"body": "d", "mode": "loud"}"#,
        #"{"title": "a", "urgency": "high"}"#, #"{"title": "b", "urgency": "low"}"#,
        #"{"title": "c", "urgency": "low"}"#, #"{"title": "a", "category": "x"}"#,
        #"{"title": "b", "category": "x"}"#, #"{"title": "b", "category": "y"}"#, #"{"title": "a", "expires": "4h"}"#,
        #"{"title": "b", "expires": "4h"}"#, #"{"title": "b", "expires": "4"}"#,
        #"{"title": "a", "pace": "latest", "key": "k"}"#, #"{"title": "b", "pace": "latest", "key": "k"}"#,
        #"{"title": "a", "key": "k"}"#, #"{"title": "b", "key": "k"}"#, #"{"title": "a", "key": 7}"#,
        #"{"title": "a", "url": "https://a"}"#, #"{"title": "b", "url": "app://b c"}"#,
        #"{"title": "b", "url": "app:b"}"#, #"{"title": "b", "url": "nothing"}"#,
        #"{"title": "a", "thread": "t", "collapse": "c"}"#, #"{"title": "b", "thread": "u", "collapse": "d"}"#,
        #"{"title": "b", "thread": "u\u0000", "collapse": "d"}"#, #"{"title": "a\nb"}"#, #"{"title": true}"#,
        #"{"title": null, "body": "x"}"#, #"{"titel": "a"}"#, #"{"title": {"default": "a", "de": "b"}}"#,
        #"{"title": "a", "data": {"b": 1}}"#, #"{"data": {"b": 2}}"#, #"{"title": "a", "apns": {"sound": "s"}}"#,
        #"{"title": "b", "apns": {"sound": 7}}"#, #"{"thread": "t"}"#,
        #"{"title": "a", "actions": [{"id": "a", "label": "b"}]}"#, #"{"title": "a", "actions": [{"id": "a"}]}"#,
    ]

    private static let catalog = PlatformCatalog.builtIn

    /// All that a rule is asked for; what is wrong where there is none.
    private static func description(of make: () throws -> Rule) -> String {
        let input = Fixture.input(kind: 20_063, content: "content")
        do {
            let rule = try make()
            var lines = [
                "\(rule.name) \(rule.mode) \(rule.urgency) \(rule.needs(in: .alert)) \(rule.speaksOfRecipient)"
            ]
            let signal = Signal(rawValue: "notification")
            let now = Timestamp(milliseconds: 1_000_000)
            for mode in Mode.allCases {
                lines.append("\(rule.render(input, signal: signal, mode: mode, now: now))")
                for platform in catalog.platforms + ["other"] {
                    let push = rule.push(on: platform, in: mode)
                    let key = rule.paceKey(of: push, input, now: .epoch)
                    lines.append("\(platform) \(rule.isSilent(on: platform)) \(push) \(key)")
                }
            }
            return lines.joined(separator: "\n")
        } catch let error as RequestedRuleError {
            return "\(error.mistakes)"
        } catch {
            return "\(error)"
        }
    }

    @Test func eachGetsTheRuleThatItWouldHaveAlone() throws {
        try #require(Self.books.count == 2)
        let rules = RequestedRules(platforms: Self.catalog, blockChecks: [:])
        // In both orders, so that each form is met first by each of its requests.
        for request in Self.requests + Self.requests.reversed() {
            guard case .object(let object) = try JSONValue(parsing: request) else { throw CancellationError() }
            for book in Self.books {
                let alone = Self.description {
                    try Rule.requested(object, by: book, name: "api", platforms: Self.catalog, blockChecks: [:])
                }
                #expect(Self.description { try rules.rule(object, by: book, name: "api") } == alone, "\(request)")
            }
        }
    }

    /// A service whose pushes are of another kind by what a title says, and not by whether there is one.
    @Test func aPlatformThatComparesTitlesIsShownEachOfThem() throws {
        let document = """
            {"version": 1, "name": "Pager", "target": {"kind": "token"}, "block": "pager", "pushes": {"kinds": [
              {"name": "siren", "nature": "special", "pace": "immediate", "when": {"is": {"rule.title": ["fire"]}}},
              {"name": "text", "nature": "alert", "pace": "batch"}]}}
            """
        let platforms = PlatformCatalog(["pager": try PlatformDescription(parsing: document)])
        let rules = RequestedRules(platforms: platforms, blockChecks: [:])
        let book = try #require(Self.books.first)
        let types = try ["fire", "lunch", "fire"].map { title in
            let member = JSONObject.Member(name: "title", value: .string(title))
            let rule = try rules.rule(JSONObject(members: [member]), by: book, name: "api")
            return rule.push(on: "pager", in: .alert).type
        }
        #expect(types == ["siren", "text", "siren"])
    }
}
