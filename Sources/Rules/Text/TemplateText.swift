import Mustache

/// A text that a template may put in, with the functions that may be applied to it, as in `{{excerpt(event.content)}}`.
struct TemplateText: MustacheTransformable, MustacheCustomRenderable {
    let text: String

    var renderText: String { text }

    /// An empty text counts as missing, so that `{{#event.content}}…{{/event.content}}` asks for one.
    var isNull: Bool { text.isEmpty }

    func transform(_ name: String) -> Any? {
        name == "excerpt" ? TemplateText(text: Excerpt.of(text)) : nil
    }
}
