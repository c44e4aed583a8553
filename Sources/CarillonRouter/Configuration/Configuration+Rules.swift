import Rules
import YAMLReading

extension Configuration {
    /// The rules in force: the configured files in their order, or the built-in rules. Throws the mistakes of all files, each
    /// under its own path.
    func loadRules() throws(Mistakes) -> RuleBook {
        guard !rulesFiles.isEmpty else { return try RuleBook.builtIn() }
        var files: [RulesFile] = []
        var mistakes: [Mistake] = []
        for path in rulesFiles {
            do {
                files.append(RulesFile(name: path, text: try Self.text(of: path, what: "the rules")))
            } catch {
                mistakes += error.all
            }
        }
        // What can be read is checked all the same.
        do {
            let book = try RuleBook(files: files)
            if mistakes.isEmpty { return book }
        } catch {
            mistakes += error.all
        }
        throw Mistakes(mistakes)
    }

    /// The outbox is a file of its own beside the store, so that registrations and deliveries do not wait for each other.
    var outboxPath: String { storePath + "-outbox" }
}
