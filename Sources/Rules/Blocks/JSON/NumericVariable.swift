/// The variables that stand for numbers: what a template may consist of where a platform's block wants one.
enum NumericVariable {
    static let names = ["event.kind", "event.created_at", "referenced.kind", "zap.amount", "count"]

    /// Whether `text` is one numeric variable and nothing else, as in `{{count}}`.
    static func isWhole(_ text: some StringProtocol) -> Bool {
        guard text.hasPrefix("{{"), text.hasSuffix("}}"), text.utf8.count > 4 else { return false }
        let name = text.dropFirst(2).dropLast(2).drop { $0 == " " }
        return names.contains { name.hasPrefix($0) && name.dropFirst($0.count).allSatisfy { $0 == " " } }
    }
}
