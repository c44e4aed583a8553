/// One of the files that together are the rules.
package struct RulesFile: Sendable {
    /// The path as it should appear in mistakes.
    package var name: String
    package var text: String

    package init(name: String, text: String) {
        self.name = name
        self.text = text
    }
}
