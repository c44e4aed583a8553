import Foundation
import Nostr
import PlatformTestSupport
import Push
import RandomTestSupport
import Testing

@testable import Rules

/// 10,000 random hostile texts, five per event, through every field. The expectations do not use the code under test.
@Suite struct HostileTextTests {
    private let rule: Rule

    init() throws {
        let book = try RuleBook(
            yaml: """
                version: 1
                rules:
                  - match: { kinds: 1 }
                    title: "⚡ {{author.name}} said {{event.content}}!"
                    subtitle: "{{excerpt20(event.content)}}|{{upper(zap.comment)}}"
                    body: "{{event.content}}{{referenced.content}}{{event.tag.t}}"
                    category: " {{event.content}} "
                    thread: "{{author.name}}/{{event.tag.t}}"
                    collapse: "{{event.content}}"
                    url: "https://app.example/a/{{event.content}}/b?q={{author.name}}&r={{event.tag.t}}#{{truncate5(event.content)}}"
                    actions:
                      - { id: "{{event.content}}", label: "{{author.name}}: {{event.content}}", url: "{{event.content}}", icon: "{{event.tag.t}}" }
                    apns: { alert: { launch-image: "{{event.content}}" } }
                """,
            name: "rules.yaml"
        )
        rule = try #require(book.rules.first)
    }

    @Test func hostileTextIsHarmlessInEveryField() throws {
        var random = SeededGenerator(seed: 20_260_301)
        for number in 0..<2000 {
            var input = Fixture.input(
                kind: 1,
                content: HostileText.random(using: &random),
                author: HostileText.random(using: &random),
                referenced: ReferencedEvent(
                    id: Fixture.referencedID,
                    kind: .textNote,
                    content: HostileText.random(using: &random)
                ),
                tags: [["t", HostileText.random(using: &random)]]
            )
            input.zap = Fixture.zap(millisats: 21_000, comment: HostileText.random(using: &random))
            let notification = rule.render(input, signal: .mention, mode: .alert)
            let button = try #require(notification.actions.first)
            for text in [notification.title, notification.subtitle, button.label] {
                try expectHarmless(text, number)
            }
            try expectHarmless(notification.body, number, isMultiline: true)
            for text in [notification.category, notification.thread, notification.collapseKey, button.id, button.icon] {
                try expectHarmless(text, number)
                try #require(
                    text == text.trimmingCharacters(in: .whitespaces) && text.utf8.count <= 600,
                    "text \(number)"
                )
            }
            try expectSameURL(notification.url, number)
            try expectURL(button.url, number)
            let json = try jsonObject(notification.native["ios"] ?? "")
            let alert = try #require(json["alert"] as? NSDictionary)
            // Omitted if it is empty after cleaning.
            try expectHarmless(alert["launch-image"] as? String ?? "", number)
            _ = try jsonObject(notification.data)
        }
    }

    private func expectHarmless(_ text: String, _ number: Int, isMultiline: Bool = false) throws {
        let fault = fault(in: text, isMultiline: isMultiline)
        if let fault { try #require(Bool(false), "\(fault) in text \(number)") }
    }

    /// Plain code, because it checks millions of scalars.
    private func fault(in text: String, isMultiline: Bool) -> String? {
        var marks = 0
        var previous: Unicode.Scalar = "a"
        for scalar in text.unicodeScalars {
            defer { previous = scalar }
            switch scalar.value {
            case 0x20...0x7E:
                marks = 0
                continue
            case 0x09, 0x0A: if !isMultiline { return "control" }
            case 0..<0x20, 0x7F...0x9F: return "control"
            case 0x2028, 0x2029: return "separator"
            case 0x202A...0x202E, 0x2066...0x206F: return "turn"
            case 0x200B, 0x2060, 0xFEFF, 0xAD, 0x34F, 0x3164: return "hidden"
            // The tag characters of a flag are consecutive.
            case 0xE0020...0xE007F: continue
            default: break
            }
            let properties = scalar.properties
            if properties.isNoncharacterCodePoint { return "noncharacter" }
            if properties.isDefaultIgnorableCodePoint {
                // One behind a selector or a flag at the most, and selectors never behind anything hidden.
                let isBehindOne = previous.properties.isVariationSelector || previous == "\u{E007F}"
                let mayFollow = isBehindOne && !properties.isVariationSelector
                if previous.properties.isDefaultIgnorableCodePoint, !mayFollow { return "hidden run" }
                continue
            }
            switch properties.generalCategory {
            case .nonspacingMark, .enclosingMark, .spacingMark: marks += 1
            default: marks = 0
            }
            if marks > 6 { return "tower" }
        }
        return nil
    }

    /// Inserted values change neither the host nor the path, nor the start of query and fragment.
    private func expectSameURL(_ url: String, _ number: Int) throws {
        try #require(url.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "URL \(number)")
        let parts = try #require(URLComponents(string: url), "URL \(number)")
        try #require(parts.scheme == "https" && parts.host == "app.example" && parts.port == nil && parts.user == nil)
        let segments = parts.percentEncodedPath.split(separator: "/", omittingEmptySubsequences: false)
        try #require(segments.count == 4 && segments[1] == "a" && segments[3] == "b", "URL \(number)")
        try #require(segments[2] != ".." && segments[2] != ".", "URL \(number)")
        try #require(parts.queryItems?.map(\.name) == ["q", "r"], "URL \(number)")
    }

    private func expectURL(_ url: String, _ number: Int) throws {
        guard !url.isEmpty else { return }
        try #require(url.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "URL \(number)")
        try #require(url.hasPrefix("https:"), "URL \(number)")
    }
}
