import Mustache

/// A text with `{{…}}` in it, read and checked once, rendered often. Mustache's syntax, without its HTML escaping.
struct Template: Sendable {
    private enum Form: Sendable {
        case literal(String)
        case mustache(MustacheTemplate)
    }

    private let form: Form
    /// The variables it may put in or ask for, by their whole names.
    let variables: Set<String>

    static let empty = Template(literal: "")

    private init(literal: String) {
        self.form = .literal(literal)
        self.variables = []
    }

    /// - Throws: ``TemplateError`` for broken syntax, for variables that do not exist, and for what ``TemplateTags`` refuses.
    init(_ text: String) throws(TemplateError) {
        guard text.contains("{{") else {
            self.form = .literal(text)
            self.variables = []
            return
        }
        self.variables = try TemplateTags.check(text)
        let template: MustacheTemplate
        do {
            template = try MustacheTemplate(string: "{{% CONTENT_TYPE:TEXT}}" + text)
        } catch {
            throw TemplateError("the template is broken: check that every {{ has its }} and every section its end")
        }
        if let unknown = VariableProbe.unknownVariable(in: template) {
            throw TemplateError.unknownVariable(unknown)
        }
        self.form = .mustache(template)
    }

    func render(_ values: TemplateValues) -> String {
        switch form {
        case .literal(let text): text
        case .mustache(let template): template.render(values)
        }
    }
}

/// Why a text cannot be a template.
struct TemplateError: Error {
    let message: String

    init(_ message: String) {
        self.message = message
    }

    static func unknownVariable(_ name: String) -> TemplateError {
        TemplateError("there is no variable '\(name)'; there are " + TemplateValues.names.joined(separator: ", "))
    }
}
