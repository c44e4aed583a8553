import Notifications
import PlatformTestSupport
import Testing

@testable import Rules

@Suite struct RuleNeedsTests {
    private func needs(_ keys: String, in mode: Mode = .alert) throws -> RuleNeeds {
        let book = try RuleBook(yaml: "version: 1\nrules: [{ match: { kinds: 1 }, \(keys) }]", name: "rules.yaml")
        return try #require(book.rules.first).needs(in: mode)
    }

    @Test(arguments: [
        #"title: "{{author.name}}""#, #"body: "{{#author}}{{name}}{{/author}}""#,
        #"subtitle: "{{^author.name}}x{{/author.name}}""#,
        #"body: "{{^referenced}}{{excerpt(author.name)}}{{/referenced}}""#, #"url: "https://x/{{&author.name}}""#,
        #"actions: [{ id: a, label: "{{{author.name}}}" }]"#,
    ])
    func nameIsNeededWhereATextMaySpeakOfIt(_ keys: String) throws {
        #expect(try needs(keys) == [.authorName, .referencedEvent])
    }

    @Test(arguments: [#"title: "{{author.pubkey}}""#, "title: author.name", #"title: "{{! author.name }}""#])
    func nameIsNotNeededElsewhere(_ keys: String) throws {
        #expect(try needs(keys) == .referencedEvent)
    }

    @Test func wakeUpNeedsNothing() throws {
        #expect(try needs(#"title: "{{author.name}}""#, in: .wake) == [])
        #expect(try needs(#"mode: wake, title: "{{author.name}}""#) == [])
    }

    @Test func variablesBehindADotAreThoseOfTheGroupsAroundThem() throws {
        #expect(try Template("{{#event}}{{pubkey}}{{/event}}").variables == ["event.pubkey"])
        // What the inner group does not have is sought in the outer one.
        #expect(
            try Template("{{#event}}{{#referenced}}{{kind}}{{/referenced}}{{/event}}").variables
                == ["referenced.kind", "event.kind"]
        )
        #expect(try Template("{{#referenced}}x{{/referenced}}{{count}}").variables == ["count"])
    }
}
