import Rules
import YAMLReading

extension Configuration {
    /// The rules in force: the configured files in their order, or the built-in rules, and before them those of single
    /// apps. Throws the mistakes of all files, each under its own path.
    package func loadRules() throws(Diagnostics) -> RuleBook {
        try RulesFiles(rulesFiles, ofApps: rulesFilesOfApps).read()
    }

    /// By the names of apps that have rules of their own.
    package var rulesFilesOfApps: [String: [String]] {
        apps.mapValues(\.rulesFiles).filter { !$0.value.isEmpty }
    }

    /// The outbox is a file of its own beside the store, so that registrations and deliveries do not wait for each other.
    package var outboxPath: String { storePath + "-outbox" }
}
