import CarillonABI

/// What a filter made of one inquiry.
struct FilterDecision: Sendable {
    let status: carillon_status
    /// As the plugin wrote it; nil: it wrote nothing.
    let verdict: Int32?
    /// What it set, in order.
    let sets: [CheckedEdit.Entry]

    /// How it breaks the rules; nil when it does not.
    var flaw: String? {
        guard status == .CARILLON_OK else { return nil }
        guard let verdict else { return "it returned CARILLON_OK without a verdict: write one to *verdict" }
        guard verdict == carillon_verdict.CARILLON_PASS.rawValue || verdict == carillon_verdict.CARILLON_DROP.rawValue
        else {
            return "its verdict \(verdict) is none of carillon_verdict"
        }
        guard let refused = sets.first(where: { $0.status != .CARILLON_OK }) else { return nil }
        let name = PluginText.printable(String(decoding: refused.field.prefix(64), as: UTF8.self))
        return name == "reason"
            ? "its reason is not at most \(FilterEdit.reasonLimit) printable ASCII bytes"
            : "it set \"\(name)\", which the host does not take here"
    }
}
