import Mustache

/// Renders a template once when it is read, to find names that stand for nothing: a misspelt variable would otherwise be
/// an empty place in somebody's notification.
final class VariableProbe: MustacheParent {
    private let vocabulary: TemplateVocabulary
    private let group: String?
    private let root: VariableProbe?
    private var unknown: String?
    /// A name that a group did not have. Mustache asks further out next; only when the top has not got it either is it unknown.
    private var pending: String?

    private init(_ vocabulary: TemplateVocabulary, group: String? = nil, root: VariableProbe? = nil) {
        self.vocabulary = vocabulary
        self.group = group
        self.root = root
    }

    /// The first variable in `template` that is not in `vocabulary`.
    static func unknownVariable(in template: MustacheTemplate, _ vocabulary: TemplateVocabulary) -> String? {
        let probe = VariableProbe(vocabulary)
        _ = template.render(probe)
        return probe.unknown ?? probe.pending
    }

    func child(named name: String) -> Any? {
        guard let group, let root else { return topLevel(name) }
        let full = "\(group).\(name)"
        if vocabulary.knows(full) { return Anything() }
        if full + "." == TemplateVariable.tagPrefix { return VariableProbe(vocabulary, group: full, root: root) }
        root.settlePending()
        root.pending = full
        return nil
    }

    private func topLevel(_ name: String) -> Any? {
        if let pending, pending.hasSuffix("." + name) { self.pending = nil }
        settlePending()
        if vocabulary.knows(name) { return Anything() }
        if vocabulary.isGroup(name) { return VariableProbe(vocabulary, group: name, root: self) }
        unknown = unknown ?? name
        return nil
    }

    private func settlePending() {
        unknown = unknown ?? pending
        pending = nil
    }

    /// Stands for a text that any function takes.
    private struct Anything: MustacheTransformable, MustacheCustomRenderable {
        var renderText: String { "x" }
        var isNull: Bool { false }

        func transform(_ name: String) -> Any? { self }
    }
}
