import PluginKit

/// A text with placeholders in the style of Mustache: `{{title}}`, `{{title|html}}`, `{{#title}}…{{/title}}` for text
/// that is used only if there is a title, and `{{^title}}…{{/title}}` for text that is used only if there is none.
struct Template: Sendable {
    private enum Part: Sendable {
        case text(String)
        case value(Placeholder, asHTML: Bool)
        indirect case section(Placeholder, isInverted: Bool, Template)
    }

    private let parts: [Part]

    /// Throws for a placeholder that is not in `names`, and for one that is not closed.
    init(_ text: String, _ names: inout PlaceholderNames) throws(PluginError) {
        var rest = text[...]
        try self.init(&rest, &names, inside: nil)
    }

    private init(_ parts: some Sequence<Part>) { self.parts = Array(parts) }

    /// Reads to the end of the text, or to the end of the section of that name.
    private init(_ rest: inout Substring, _ names: inout PlaceholderNames, inside section: String?) throws(PluginError)
    {
        var parts: [Part] = []
        while let opening = rest.firstRange(of: "{{") {
            if opening.lowerBound > rest.startIndex { parts.append(.text(String(rest[..<opening.lowerBound]))) }
            rest = rest[opening.upperBound...]
            guard let closing = rest.firstRange(of: "}}") else {
                throw PluginError("expected }} after every {{")
            }
            let tag = rest[..<closing.lowerBound].filter { $0 != " " }
            rest = rest[closing.upperBound...]
            switch tag.first {
            case "#", "^":
                let name = String(tag.dropFirst())
                let placeholder = try names.placeholder(name)
                let inner = try Template(&rest, &names, inside: name)
                parts.append(.section(placeholder, isInverted: tag.first == "^", inner))
            case "/":
                guard let section, tag.dropFirst() == section else {
                    throw PluginError("expected {{/\(section ?? "…")}} only after its {{#\(section ?? "…")}}")
                }
                self.parts = parts
                return
            default:
                let asHTML = tag.hasSuffix("|html")
                parts.append(.value(try names.placeholder(String(tag.dropLast(asHTML ? 5 : 0))), asHTML: asHTML))
            }
        }
        if let section { throw PluginError("expected {{/\(section)}} behind {{#\(section)}}") }
        if !rest.isEmpty { parts.append(.text(String(rest))) }
        self.parts = parts
    }

    /// Whether it contains more than literal text.
    var hasPlaceholders: Bool { parts.contains { if case .text = $0 { false } else { true } } }

    /// The only placeholder that it consists of; nil if there is more.
    var sole: Placeholder? {
        guard parts.count == 1, case .value(let placeholder, asHTML: false) = parts[0] else { return nil }
        return placeholder
    }

    /// The literal text or the placeholder at the start, and the rest.
    var split: (literal: String?, placeholder: Placeholder?, rest: Template?) {
        let rest = parts.count > 1 ? Template(parts.dropFirst()) : nil
        return switch parts.first {
        case .text(let literal): (literal, nil, rest)
        case .value(let placeholder, asHTML: false): (nil, placeholder, rest)
        default: (nil, nil, rest)
        }
    }

    /// Returns the text with placeholders replaced by `value`; `escape` escapes a value for its context.
    func render(_ value: (Placeholder) -> String, _ escape: (String) -> String = { $0 }) -> String {
        parts.reduce(into: "") { text, part in
            switch part {
            case .text(let literal): text += literal
            case .value(let placeholder, let asHTML):
                text += escape(asHTML ? Self.html(value(placeholder)) : value(placeholder))
            case .section(let placeholder, let isInverted, let inner):
                if value(placeholder).isEmpty == isInverted { text += inner.render(value, escape) }
            }
        }
    }

    private static func html(_ text: String) -> String {
        text.reduce(into: "") { html, character in
            switch character {
            case "&": html += "&amp;"
            case "<": html += "&lt;"
            case ">": html += "&gt;"
            default: html.append(character)
            }
        }
    }
}

/// The reference of a placeholder.
enum Placeholder: Hashable, Sendable {
    /// A part of the notification.
    enum Word: String, CaseIterable, Sendable {
        case id, signal, count, mode, urgency, title, subtitle, body, category, thread
        case collapseKey = "collapse_key"
        case url
        case expiresAt = "expires_at"
    }

    case notification(Word)
    case token
    /// A field of the registration.
    case field(String)
    /// A member of the service's `secrets`.
    case secret(String)
    /// A member of the rule's block.
    case rule(String)
    /// A member of the notification's data.
    case data(String)
}

/// The placeholders that a service may use, and those that its templates use.
struct PlaceholderNames {
    let fields: Set<String>
    let secrets: Set<String>
    private(set) var used: Set<Placeholder> = []

    init(fields: Set<String>, secrets: Set<String>) {
        self.fields = fields
        self.secrets = secrets
    }

    mutating func placeholder(_ name: String) throws(PluginError) -> Placeholder {
        let placeholder = try find(name)
        used.insert(placeholder)
        return placeholder
    }

    private func find(_ name: String) throws(PluginError) -> Placeholder {
        if name == "token" { return .token }
        if let word = Placeholder.Word(rawValue: name) { return .notification(word) }
        let parts = name.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        switch (parts.first, parts.last) {
        case ("fields", let field?) where fields.contains(field): return .field(field)
        case ("secrets", let secret?) where secrets.contains(secret): return .secret(secret)
        case ("rule", let key?) where parts.count == 2 && !key.isEmpty: return .rule(key)
        case ("data", let key?) where parts.count == 2 && !key.isEmpty: return .data(key)
        default:
            let known = Placeholder.Word.allCases.map(\.rawValue) + ["token", "rule.NAME", "data.NAME"]
            let own = fields.map { "fields.\($0)" }.sorted() + secrets.map { "secrets.\($0)" }.sorted()
            throw PluginError("{{\(name)}} is unknown: expected one of \((known + own).joined(separator: ", "))")
        }
    }
}
