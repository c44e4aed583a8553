import Testing

@testable import Rules

@Suite struct TemplateTagsTests {
    @Test(arguments: [
        "{{.}}", "{{event}}", "{{#event}}{{.}}{{/event}}", "{{^event.content}}{{nope}}{{/event.content}}",
        "{{shout(event.content)}}", "{{excerpt(nope)}}", "{{> other}}", "{{<other}}{{/other}}", "{{$block}}{{/block}}",
        "{{=<% %>=}}<%event.id%>", "{{% CONTENT_TYPE:HTML}}", "{{}}", "{{{}}}", "{{ }}",
    ])
    func templateThatPrintsNothingOrInternalsIsRefused(_ text: String) {
        #expect(throws: TemplateError.self) { try Template(text) }
    }

    /// These would always be empty in a notification, or show another group's variable.
    @Test(arguments: [
        "{{^event.subject}}{{content}}{{/event.subject}}", "{{^zap}}{{amount}}{{/zap}}",
        "{{#author}}{{content}}{{/author}}", "{{#event}}{{/event}}{{id}}", "{{#zap}}{{event.amount}}{{/zap}}",
        "{{#event.content}}{{^event}}{{subject}}{{/event}}{{/event.content}}",
        "{{#referenced}}{{npub(id)}}{{/referenced}}",
    ])
    func shortNamesBelongToTheEnclosingGroup(_ text: String) {
        #expect(throws: TemplateError.self) { try Template(text) }
    }

    @Test func textSectionLeavesTheEnclosingGroup() throws {
        let text = "{{#event}}{{#subject}}{{content}} {{upper(content)}} {{tag.t}}{{/subject}}{{/event}}"
        let input = Fixture.input(kind: 1, content: "a\u{202E}b", tags: [["subject", "hi"], ["t", "x"]])
        #expect(try Template(text).render(TemplateValues(input)) == "ab AB x")
        let url = try Template("app://{{#event}}{{#subject}}{{content}}{{/subject}}{{/event}}", in: .url)
        #expect(
            url.render(TemplateValues(Fixture.input(kind: 1, content: "?a=/", tags: [["subject", "hi"]])))
                == "app://%3Fa%3D%2F"
        )
        #expect(url.variables == ["event.subject", "event.content"])
    }

    @Test(arguments: [
        "{{event.id}}", "{{ event.content }}", "{{{event.content}}}", "{{&event.content}}", "{{! a comment }}",
        "{{excerpt(event.content)}}", "{{ excerpt(event.content) }}", "{{#event}}{{id}}{{/event}}",
        "{{#referenced}}{{referenced.id}}{{/referenced}}{{^referenced}}none{{/referenced}}",
        "{{#event.content}}{{event.content}}{{/event.content}}", "{{#zap}}{{#comment}}{{amount}}{{/comment}}{{/zap}}",
        "{{^zap}}{{event.kind}}{{count}}{{/zap}}", "no tags, { one } brace",
    ])
    func documentedTemplateIsAccepted(_ text: String) {
        #expect(throws: Never.self) { try Template(text) }
    }

    @Test(arguments: ["", " ", "\n\t", "\u{200B}"])
    func emptyTextCountsAsMissing(_ content: String) throws {
        let template = try Template("{{#event.content}}some{{/event.content}}{{^event.content}}none{{/event.content}}")
        #expect(template.render(TemplateValues(Fixture.input(kind: 1, content: content))) == "none")
    }

    @Test func excessiveSectionsAreRefusedBeforeParsing() {
        let text =
            String(repeating: "{{#event.content}}", count: 50_000)
            + String(repeating: "{{/event.content}}", count: 50_000)
        #expect(throws: TemplateError.self) { try Template(text) }
    }

    @Test func deepestTemplateThatFitsIsParsed() {
        let text = String(repeating: "{{#count}}", count: 204) + String(repeating: "{{/count}}", count: 204)
        #expect(throws: Never.self) { try Template(text) }
    }

    @Test func contentIsNeverReadAsATemplate() throws {
        let template = try Template("{{event.content}} {{{event.content}}} {{excerpt(event.content)}}")
        let content = "{{event.id}}{{#a}}{{{"
        let values = TemplateValues(Fixture.input(kind: 1, content: content))
        #expect(template.render(values) == "\(content) \(content) \(content)")
    }
}
