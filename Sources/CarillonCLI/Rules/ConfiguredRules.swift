import CarillonRouter

/// The files that rules come from.
enum ConfiguredRules {
    /// `files`, the configuration file and the rules files that it names, as far as it can be read.
    static func files(_ files: [String], config: String?) -> [String] {
        guard let config else { return files }
        let named = (try? Configuration(file: config, withoutCredentials: true))?.allRulesFiles ?? []
        return files + [config] + named.filter { !files.contains($0) }
    }
}
