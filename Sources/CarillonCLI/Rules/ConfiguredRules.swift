import CarillonRouter
import Operations
import RouterConfiguration

/// The files that rules come from.
enum ConfiguredRules {
    /// `files`, the configuration file and the rules files that it names, and what rules name, as far as they can be
    /// read.
    static func files(_ files: [String], config: String?) -> [String] {
        let configuration = config.flatMap { try? Configuration(file: $0, withoutCredentials: true) }
        return (config.map { [$0] } ?? []) + RulesCheck(files: files, configuration: configuration).allFiles
    }
}
