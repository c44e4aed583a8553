import Mustache

/// Renders a template once when it is read, to find names that stand for nothing: a misspelt variable would otherwise be
/// an empty place in somebody's notification.
final class VariableProbe: MustacheParent {
    private let group: String?
    private let root: VariableProbe?
    private var unknown: String?
    /// A name that a group did not have. Mustache asks further out next; only when the top has not got it either is it unknown.
    private var pending: String?

    private init(group: String? = nil, root: VariableProbe? = nil) {
        self.group = group
        self.root = root
    }

    /// The first variable in `template` that ``TemplateValues`` does not have.
    static func unknownVariable(in template: MustacheTemplate) -> String? {
        let probe = VariableProbe()
        _ = template.render(probe)
        return probe.unknown ?? probe.pending
    }

    func child(named name: String) -> Any? {
        guard let group, let root else { return topLevel(name) }
        let full = "\(group).\(name)"
        guard TemplateValues.names.contains(full) else {
            root.settlePending()
            root.pending = full
            return nil
        }
        return TemplateText(text: "x")
    }

    private func topLevel(_ name: String) -> Any? {
        if let pending, pending.hasSuffix("." + name) { self.pending = nil }
        settlePending()
        if TemplateValues.names.contains(name) { return TemplateText(text: "x") }
        if TemplateValues.names.contains(where: { $0.hasPrefix(name + ".") }) {
            return VariableProbe(group: name, root: self)
        }
        unknown = unknown ?? name
        return nil
    }

    private func settlePending() {
        unknown = unknown ?? pending
        pending = nil
    }
}
