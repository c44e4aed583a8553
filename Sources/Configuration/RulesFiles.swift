import Foundation
import Pipeline
import PluginHost
import Push
import Rules
import Storage
import Synchronization

extension [String: Configuration.App] {
    /// The rules files of apps that have their own, by app name.
    package var rulesFiles: [String: [String]] { mapValues(\.rulesFiles).filter { !$0.value.isEmpty } }
}

/// The platform descriptions of the loaded plugins, and their checks of rule blocks.
package struct KnownPlatforms: Sendable {
    package let catalog: PlatformCatalog
    package let blockChecks: BlockChecks
    /// Plugins that were found but refused, with the reasons.
    package let refusals: [Diagnostic]

    package init(
        _ catalog: PlatformCatalog = PlatformCatalog(),
        blockChecks: BlockChecks = [:],
        refusals: [Diagnostic] = []
    ) {
        self.catalog = catalog
        self.blockChecks = blockChecks
        self.refusals = refusals
    }

    package init(_ plugins: PluginHost) {
        self.init(
            plugins.platformCatalog,
            blockChecks: plugins.blockChecks,
            refusals: plugins.catalog.refusals.map { Diagnostic(file: $0.path, message: "\($0.reason)") }
        )
    }
}

/// The rules files that form the rules, in their order.
package struct RulesFiles {
    /// The maximum size of files that rules name, in bytes.
    private static let otherFileLimit = 16 << 20

    private let paths: [String]
    private let ofApps: [String: [String]]
    private let platforms: KnownPlatforms
    private let replacements: [String: String]

    /// Makes the list. If `paths` is empty, the common rules are the built-in ones. Those of `ofApps` come before them,
    /// each for the devices of one app. `replacing` contains texts by path that replace the content of files.
    package init(
        _ paths: [String],
        ofApps: [String: [String]] = [:],
        _ platforms: KnownPlatforms,
        replacing replacements: [String: String] = [:]
    ) {
        self.replacements = replacements
        self.paths = paths
        self.ofApps = ofApps
        self.platforms = platforms
    }

    /// The configured files in their order, or the built-in rules, with those of single apps before them.
    package init(
        _ configuration: Configuration,
        _ platforms: KnownPlatforms,
        replacing replacements: [String: String] = [:]
    ) {
        self.init(configuration.rulesFiles, ofApps: configuration.apps.rulesFiles, platforms, replacing: replacements)
    }

    /// Reads the files. Throws the errors of all files, each with its path; readable files are checked even if others
    /// fail. If a platform is missing, refused plugins come first, because they may be the cause.
    package func read() throws(Diagnostics) -> RuleBook {
        try read(noting: NamedFiles())
    }

    /// Returns the files that the rules name, such as lists of keys, as far as the rules can be read.
    package func otherFiles() -> [String] {
        let named = NamedFiles()
        _ = try? read(noting: named)
        return named.paths
    }

    private func read(noting named: NamedFiles) throws(Diagnostics) -> RuleBook {
        var mistakes: [Diagnostic] = []
        let common =
            paths.isEmpty
            ? [RulesFile(name: RuleBook.defaultName, text: RuleBook.defaultYAML(platforms: platforms.catalog))]
            : files(paths, named, &mistakes)
        var own: [String: [RulesFile]] = [:]
        for (app, paths) in ofApps.sorted(by: { $0.key < $1.key }) { own[app] = files(paths, named, &mistakes) }
        do {
            let book = try RuleBook(
                files: common,
                ofApps: own,
                platforms: platforms.catalog,
                blockChecks: platforms.blockChecks
            )
            if mistakes.isEmpty { return book }
        } catch {
            mistakes += error.all
        }
        let isPlatformMissing = mistakes.contains { $0.message.contains(RuleBook.missingBlock) }
        throw Diagnostics((isPlatformMissing ? platforms.refusals : []) + mistakes)
    }

    /// Throws an error if the file cannot be read.
    package static func text(of path: String) throws(Diagnostics) -> String {
        try Configuration.text(of: path, what: "the rules")
    }

    private func files(_ paths: [String], _ named: NamedFiles, _ mistakes: inout [Diagnostic]) -> [RulesFile] {
        var files: [RulesFile] = []
        for path in paths {
            do {
                let text = if let other = replacements[path] { other } else { try Self.text(of: path) }
                files.append(
                    RulesFile(name: path, text: text) { other throws(RulesFile.Unreadable) in
                        let file = Self.file(other, besides: path)
                        named.add(file.path)
                        return try Self.text(of: file)
                    }
                )
            } catch {
                mistakes += error.all
            }
        }
        return files
    }

    /// Returns a file that the rules in `rulesFile` name; a relative path starts from their folder.
    private static func file(_ path: String, besides rulesFile: String) -> URL {
        let folder = URL(filePath: rulesFile).deletingLastPathComponent()
        return path.hasPrefix("/") ? URL(filePath: path) : folder.appending(path: path)
    }

    private static func text(of file: URL) throws(RulesFile.Unreadable) -> String {
        guard let handle = try? FileHandle(forReadingFrom: file) else {
            throw RulesFile.Unreadable("cannot be read: check that the file exists and that this user may read it")
        }
        defer { try? handle.close() }
        guard let data = try? handle.read(upToCount: otherFileLimit + 1) ?? Data() else {
            throw RulesFile.Unreadable("cannot be read: expected a file")
        }
        guard data.count <= otherFileLimit else {
            throw RulesFile.Unreadable("is larger than \(otherFileLimit >> 20) MiB")
        }
        guard let text = String(validating: data, as: UTF8.self) else {
            throw RulesFile.Unreadable("must be UTF-8 text")
        }
        return text
    }
}

/// The paths of files that rules name, collected during parsing.
private final class NamedFiles: Sendable {
    private let names = Mutex<Set<String>>([])

    var paths: [String] { names.withLock { $0.sorted() } }

    func add(_ path: String) {
        names.withLock { _ = $0.insert(path) }
    }
}
