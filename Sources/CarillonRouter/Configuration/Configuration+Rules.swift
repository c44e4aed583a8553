import Rules
import YAMLReading

extension Configuration {
    /// The rules in force: the configured files in their order, or the built-in rules. Throws the mistakes of all files, each
    /// under its own path.
    func loadRules() throws(Mistakes) -> RuleBook {
        guard !rulesFiles.isEmpty else { return try RuleBook.builtIn() }
        return try RulesFiles(rulesFiles).read()
    }

    /// The outbox is a file of its own beside the store, so that registrations and deliveries do not wait for each other.
    var outboxPath: String { storePath + "-outbox" }
}
