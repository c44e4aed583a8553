import Core
import Foundation
import JSON
import Mustache
import Nostr
import PlatformTestSupport
import Push
import RandomTestSupport
import Testing
import TimeTestSupport

@testable import Rules

/// Mustache is the reference: rendering without it must give the same result.
@Suite struct TemplateSegmentsTests {
    private static let variables = [
        "event.id", "event.address", "event.pubkey", "event.kind", "event.content", "event.created_at",
        "event.subject", "author.name", "author.pubkey", "author.npub", "recipient.pubkey", "recipient.npub",
        "referenced.id", "referenced.kind", "referenced.content", "referenced.author.name",
        "referenced.author.pubkey", "zap.amount", "zap.comment", "zap.anonymous", "signal", "relation", "count",
        "batch", "event.tag.t", "event.tag.t.2", "event.tag.d", "event.tag.none",
    ]
    private static let functions = [
        "excerpt", "excerpt5", "truncate3", "npub", "note", "nevent", "nprofile", "naddr", "ago", "since", "upper",
        "lower", "sats", "round", "number", "number2",
    ]
    private static let literals = ["", " ", "⚡ ", "{", "}", "a{b}c", "\" \\", "/", "  x  ", "né", "#", "{ {x} }", "."]
    /// Some that are left to Mustache are among them.
    private static let others = [
        "{{! a comment }}", "{{{event.content}}}", "{{& author.name }}", "{{#event}}{{content}}{{/event}}",
        "{{#event.tags.t}}{{.}},{{/event.tags.t}}", "{{count(event.tags.t)}}", "{{event.json.a}}",
        "{{#event.content}}{{.}}{{/event.content}}", "\n", "{{#referenced}}{{content}}{{/referenced}}",
        "{{#event.json.a}}yes{{/event.json.a}}",
    ]

    private func template(using random: inout SeededGenerator, depth: Int = 0) -> String {
        var text = ""
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            text += Self.literals.randomElement(using: &random) ?? ""
            var name = Self.variables.randomElement(using: &random) ?? ""
            for _ in 0..<max(0, Int.random(in: -3...2, using: &random)) {
                name = "\(Self.functions.randomElement(using: &random) ?? "upper")(\(name))"
            }
            let blank = Bool.random(using: &random) ? "" : " "
            switch Int.random(in: 0..<12, using: &random) {
            case 0..<6: text += "{{\(blank)\(name)\(blank)}}"
            case 6..<11 where depth < 3:
                let sign = Bool.random(using: &random) ? "#" : "^"
                text += "{{\(sign)\(blank)\(name)}}\(template(using: &random, depth: depth + 1)){{/\(name)\(blank)}}"
            case 11: text += Self.others.randomElement(using: &random) ?? ""
            default: text += Self.literals.randomElement(using: &random) ?? ""
            }
        }
        return text
    }

    private func input(using random: inout SeededGenerator) -> RuleInput {
        let texts = [
            "", " ", "5", "1700000000", Fixture.sender.hex, "{\"a\":\"x\"}", HostileText.random(using: &random),
        ]
        func text() -> String { texts.randomElement(using: &random) ?? "" }
        var input = Fixture.input(
            kind: [1, 3, 30_023].randomElement(using: &random) ?? 1,
            content: text(),
            author: text(),
            signal: Bool.random(using: &random) ? .reply : nil,
            relation: Bool.random(using: &random) ? .mention : nil,
            tags: [["t"], ["t", text(), text()], ["t", "second"], ["d", text()], ["subject", text()]]
        )
        if Bool.random(using: &random) {
            input.referenced = ReferencedEvent(
                id: Fixture.referencedID,
                kind: Bool.random(using: &random) ? .textNote : nil,
                content: Bool.random(using: &random) ? text() : nil,
                author: Bool.random(using: &random) ? Fixture.sender : nil,
                authorName: Bool.random(using: &random) ? text() : nil
            )
        }
        if Bool.random(using: &random) {
            input.zap = Fixture.zap(millisats: 21_001, comment: text(), isAnonymous: Bool.random(using: &random))
        }
        return input
    }

    @Test func renderingMatchesMustache() throws {
        var random = SeededGenerator(seed: 20_261_124)
        var compared = 0
        var places: [TextPlace] = [.line, .paragraph, .identifier, .url, .wholeURL]
        for _ in 0..<10_000 {
            let text = template(using: &random)
            // An invalid template is never rendered.
            guard (try? TemplateTags(of: text, .event)) != nil, let segments = TemplateSegments(text) else { continue }
            let mustache = try MustacheTemplate(string: "{{% CONTENT_TYPE:TEXT}}" + text)
            let values = TemplateValues(input(using: &random), now: 1_800_000_000_000, mentions: .names)
            places.shuffle(using: &random)
            for place in places.prefix(2) {
                let expected = mustache.render(values.going(to: place))
                try #require(segments.render(values, in: place) == expected, "\(text) in \(place)")
            }
            if !text.contains("{{") { continue }
            compared += 1
        }
        #expect(compared > 1_000)
    }

    @Test func countsMatchMustache() throws {
        for text in [
            "{{count}} new", "{{#batch}}{{count}} of them{{/batch}}{{^batch}}one{{/batch}}", "{{number(count)}}",
        ] {
            let segments = try #require(TemplateSegments(text))
            let mustache = try MustacheTemplate(string: "{{% CONTENT_TYPE:TEXT}}" + text)
            for count: UInt32 in [1, 2, 12_345] {
                let values = TemplateValues(count: count)
                #expect(segments.render(values, in: .line) == mustache.render(values.going(to: .line)))
            }
        }
    }

    @Test(arguments: [
        "{{! a comment }}", "{{{event.content}}}", "{{&event.content}}", "{{#event}}{{content}}{{/event}}",
        "{{#event.tags.t}}{{.}}{{/event.tags.t}}", "{{count(event.tags.t)}}", "{{event.json.a}}",
        "{{#event.content}}{{.}}{{/event.content}}", "a\n{{event.content}}", "{{#author}}{{name}}{{/author}}",
    ])
    func otherTemplatesUseMustache(_ text: String) {
        #expect(TemplateSegments(text) == nil)
    }

    /// Most routers use these rules.
    @Test func rendersTheBuiltInRulesWithoutMustache() {
        let yaml = RuleBook.defaultYAML(platforms: .builtIn)
        let texts = yaml.split(separator: "\n").compactMap { line -> String? in
            guard let value = line.firstRange(of: ": \"").map({ line[$0.upperBound...] }), value.contains("{{") else {
                return nil
            }
            return String(value.dropLast())
        }
        #expect(texts.count > 10)
        for text in texts { #expect(TemplateSegments(text) != nil, "\(text)") }
    }
}

/// Foundation's encoder is the judge.
@Suite struct EventDataTests {
    private struct Encoded: Encodable {
        let event_id: String
        let author_pubkey: String
        let kind: UInt16
        let created_at: Int64
        let referenced_event_id: String?
        let referenced_event_kind: UInt16?
        let referenced_event_content: String?

        init(_ input: RuleInput) {
            event_id = input.event.id.hex
            author_pubkey = input.author.hex
            kind = input.event.kind.rawValue
            created_at = input.event.createdAt
            referenced_event_id = input.referenced?.id.hex
            referenced_event_kind = input.referenced?.kind?.rawValue
            referenced_event_content = input.referenced?.content.map {
                Excerpt.of(UntrustedText.neutral($0, isMultiline: true).text)
            }
        }
    }

    private func encode(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    @Test func jsonMatchesAnEncoder() throws {
        var random = SeededGenerator(seed: 7)
        for number in 0..<500 {
            var input = Fixture.input(kind: UInt16.random(in: 0 ... .max, using: &random))
            if number % 5 > 0 {
                input.referenced = ReferencedEvent(
                    id: Fixture.referencedID,
                    kind: number % 3 > 0 ? .textNote : nil,
                    content: number % 7 > 0 ? HostileText.random(using: &random) : nil
                )
            }
            #expect(try EventData.json(of: TemplateSource(input)) == encode(Encoded(input)))
        }
    }

    @Test func escapingMatchesAnEncoder() throws {
        let all = String(String.UnicodeScalarView((0..<0x180).compactMap(Unicode.Scalar.init))) + "👩‍👩‍👧\u{2028}/"
        for text in all.unicodeScalars.map({ String($0) }) + [all, ""] {
            var json = JSONText()
            json.appendQuoted(text)
            #expect(try String(decoding: json.bytes, as: UTF8.self) == encode(text))
        }
    }
}
