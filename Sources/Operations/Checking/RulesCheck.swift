import Notifications
import RouterConfiguration
import Rules
import YAMLReading

/// Reads rules files as a router would, and tells what is in them.
package struct RulesCheck: Sendable {
    /// The files, in the order in which their rules are asked; none: the built-in rules.
    package let files: [String]
    /// Files for the devices of single apps, asked before those.
    private let ofApps: [String: [String]]
    private let platforms: KnownPlatforms

    /// `files` come before the configuration's, if there is one.
    package init(files: [String], configuration: Configuration? = nil, _ platforms: KnownPlatforms) {
        self.files = files + (configuration?.rulesFiles ?? []).filter { !files.contains($0) }
        ofApps = configuration?.rulesFilesOfApps ?? [:]
        self.platforms = platforms
    }

    /// All files that are read: the rules and what they name, such as lists of keys, as far as the rules can be read.
    package var allFiles: [String] {
        let rules = files + ofApps.sorted { $0.key < $1.key }.flatMap(\.value).filter { !files.contains($0) }
        return rules + RulesFiles(files, ofApps: ofApps, platforms).otherFiles()
    }

    /// One line for each file. Throws all mistakes of all files; if there is none, `warn` gets the warnings.
    package func summary(warn: (Diagnostic) -> Void = { _ in }) throws(Diagnostics) -> [String] {
        let book = try RulesFiles(files, ofApps: ofApps, platforms).read()
        book.warnings.forEach(warn)
        return (files.isEmpty ? [RuleBook.defaultName] : files).map { Self.line($0, book.outline(of: $0)) }
            + ofApps.sorted { $0.key < $1.key }.flatMap { app, files in
                files.map { "app \(app): " + Self.line($0, book[app].outline(of: $0)) }
            }
    }

    private static func line(_ file: String, _ outline: RuleOutline) -> String {
        guard outline.count > 0 else { return "\(file): no rules" }
        let drops = outline.dropCount > 0 ? ", \(outline.dropCount) of them dropping" : ""
        let kinds = outline.kinds.sorted().map(String.init) + (outline.isForAllKinds ? ["any"] : [])
        let signals =
            outline.signals.map(\.rawValue).sorted()
            + (outline.takesSignalsOfEvents ? ["what the event is taken for"] : [])
        return "\(file): \(outline.count) \(outline.count == 1 ? "rule" : "rules")\(drops); kinds "
            + (kinds.isEmpty ? "none" : kinds.joined(separator: ", ")) + "; signals "
            + (signals.isEmpty ? "none" : signals.joined(separator: ", "))
    }
}
