import Testing

@testable import Rules

@Suite struct TemplateTagsTests {
    @Test(arguments: [
        "{{.}}", "{{event}}", "{{#event}}{{.}}{{/event}}", "{{^event.content}}{{nope}}{{/event.content}}",
        "{{shout(event.content)}}", "{{excerpt(nope)}}", "{{> other}}", "{{<other}}{{/other}}", "{{$block}}{{/block}}",
        "{{=<% %>=}}<%event.id%>", "{{% CONTENT_TYPE:HTML}}", "{{}}", "{{{}}}", "{{ }}",
    ])
    func whatWouldPrintNothingOrTheProgramsInsidesIsRefused(_ text: String) {
        #expect(throws: TemplateError.self) { try Template(text) }
    }

    @Test(arguments: [
        "{{event.id}}", "{{ event.content }}", "{{{event.content}}}", "{{&event.content}}", "{{! a comment }}",
        "{{excerpt(event.content)}}", "{{ excerpt(event.content) }}", "{{#event}}{{id}}{{/event}}",
        "{{#referenced}}{{referenced.id}}{{/referenced}}{{^referenced}}none{{/referenced}}",
        "{{#event.content}}{{event.content}}{{/event.content}}", "no tags, { one } brace",
    ])
    func whatTheDocumentationShowsIsTaken(_ text: String) {
        #expect(throws: Never.self) { try Template(text) }
    }

    @Test func sectionsWithoutEndAreRefusedBeforeTheyAreParsed() {
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
