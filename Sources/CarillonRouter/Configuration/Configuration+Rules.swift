import Rules
import YAMLReading

extension Configuration {
    /// The rules in force: the configured file, or the built-in rules. Throws its mistakes.
    func loadRules() throws(Mistakes) -> RuleBook {
        guard let path = rulesFile else { return try RuleBook.builtIn() }
        return try RuleBook(yaml: Self.text(of: path, what: "the rules"), name: path)
    }

    /// The outbox is a file of its own beside the store, so that registrations and deliveries do not wait for each other.
    var outboxPath: String { storePath + "-outbox" }
}
