import Rules
import YAMLReading

extension Configuration {
    /// The rules in force: the configured files in their order, or the built-in rules, and before them those of single
    /// apps. Throws the mistakes of all files, each under its own path.
    func loadRules() throws(Mistakes) -> RuleBook {
        try RulesFiles(rulesFiles, ofApps: rulesFilesOfApps).read()
    }

    /// By the names of apps that have rules of their own.
    var rulesFilesOfApps: [String: [String]] {
        apps.mapValues(\.rulesFiles).filter { !$0.value.isEmpty }
    }

    /// All rules files: the common ones, then those of single apps.
    package var allRulesFiles: [String] {
        let own = apps.sorted { $0.key < $1.key }.flatMap(\.value.rulesFiles)
        return (rulesFiles + own).reduce(into: []) { files, file in
            if !files.contains(file) { files.append(file) }
        }
    }

    /// The outbox is a file of its own beside the store, so that registrations and deliveries do not wait for each other.
    var outboxPath: String { storePath + "-outbox" }
}
