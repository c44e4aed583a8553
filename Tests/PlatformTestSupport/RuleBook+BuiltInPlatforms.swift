import Push
import Rules
import Storage

/// Rules for Carillon's own platforms.
extension RuleBook {
    package init(yaml text: String, name: String) throws(Diagnostics) {
        try self.init(yaml: text, name: name, platforms: .builtIn)
    }

    package init(files: [RulesFile], ofApps: [String: [RulesFile]] = [:]) throws(Diagnostics) {
        try self.init(files: files, ofApps: ofApps, platforms: .builtIn, blockChecks: [:])
    }

    package static func builtIn() throws(Diagnostics) -> RuleBook { try builtIn(platforms: .builtIn) }
}
