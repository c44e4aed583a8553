import Cipher
import Console
import Foundation
import Glibc
import PluginHost
import Push
import RouterConfiguration
import Rules
import Storage

/// The active rules as their files contain them.
struct RulesInForce: OperatorAnswer, Equatable {
    struct File: Codable, Sendable, Equatable {
        /// The file's path; empty for the built-in rules.
        var name: String
        /// The app of the rules; `nil` for all apps.
        var app: String?
        var text: String
        /// A change must name the digest of the version that it replaces, so no unseen version is overwritten.
        var digest: String
        /// Whether the router can write the file.
        var isWritable: Bool
    }

    /// In order of evaluation.
    var files: [File]

    /// Throws `Diagnostics` for a file that can no longer be read.
    init(_ configuration: Configuration, _ platforms: KnownPlatforms) throws {
        var files: [File] = []
        for (app, paths) in configuration.apps.rulesFiles.sorted(by: { $0.key < $1.key }) {
            for path in paths { files.append(try File(path, app: app)) }
        }
        for path in configuration.rulesFiles { files.append(try File(path, app: nil)) }
        if configuration.rulesFiles.isEmpty {
            let text = RuleBook.defaultYAML(platforms: platforms.catalog)
            files.append(File(name: "", app: nil, text: text, digest: Self.digest(of: text), isWritable: false))
        }
        self.files = files
    }

    var text: String { files.map(\.text).joined(separator: "\n") }

    static func digest(of text: String) -> String { Base64URL.encode(Array(SHA256.hash(Array(text.utf8)).prefix(12))) }
}

extension RulesInForce.File {
    fileprivate init(_ path: String, app: String?) throws(Diagnostics) {
        let text = try RulesFiles.text(of: path)
        self.init(
            name: path,
            app: app,
            text: text,
            digest: RulesInForce.digest(of: text),
            // A new file replaces the old one, so the directory must be writable.
            isWritable: access(URL(filePath: path).deletingLastPathComponent().path, W_OK) == 0
        )
    }
}

/// Writes new rules to a file of the configuration.
struct RulesSaving: Sendable {
    static let expectedFile = Sentence(
        "rules-file",
        "file: expected one of the rules files that the configuration names"
    )

    private let file: String
    private let rules: String
    private let digest: String

    /// Throws an ``APIError``.
    init(_ call: APICall, longest: Int) throws(APIError) {
        let object = try RequestObject(call, members: ["file", "rules", "digest"])
        file = try object.required("file", atMost: 4_096)
        rules = try object.required("rules", atMost: longest)
        digest = try object.required("digest", atMost: 100)
    }

    /// Checks the rules together with the other files, and writes the file. Returns its previous contents.
    func write(_ configuration: Configuration, _ platforms: KnownPlatforms) throws -> String {
        guard configuration.namesRules(file) else { throw APIError(400, Self.expectedFile) }
        let former = try RulesFiles.text(of: file)
        guard RulesInForce.digest(of: former) == digest else {
            throw APIError(409, Sentence("rules-changed", "the file has changed since it was read: load it again"))
        }
        do {
            let files = RulesFiles(configuration, platforms, replacing: [file: rules])
            _ = try files.read()
        } catch {
            throw APIError(422, mistakes: error)
        }
        try put(rules)
        return former
    }

    /// Restores the previous contents.
    func restore(_ former: String) throws { try put(former) }

    /// Replaces the file atomically, and keeps its mode and owner.
    private func put(_ text: String) throws {
        let next = file + "-next"
        unlink(next)
        var former = stat()
        guard stat(file, &former) == 0 else { throw failure(errno) }
        let number = NewSecretFile.create(next, Array(text.utf8))
        guard number == 0 else { throw failure(number) }
        // Without root, the router becomes the file's owner.
        _ = chown(next, former.st_uid, former.st_gid)
        guard chmod(next, former.st_mode & 0o777) == 0, rename(next, file) == 0 else {
            let number = errno
            unlink(next)
            throw failure(number)
        }
    }

    private func failure(_ number: Int32) -> APIError {
        APIError(
            503,
            Sentence(
                "cannot-write",
                ["file": file, "error": String(cString: strerror(number))],
                "cannot write \(file): \(String(cString: strerror(number))). Save the rules there by hand, and reload"
            )
        )
    }
}

extension APIError {
    /// The response to invalid rules.
    init(_ status: Int, mistakes: Diagnostics) {
        self.init(
            status,
            Sentence("rules-mistakes", "the rules have errors"),
            lists: ["mistakes": mistakes.all.map(\.description)]
        )
    }
}

extension Configuration {
    /// Whether the configuration reads rules from that file.
    func namesRules(_ file: String) -> Bool {
        (rulesFiles + apps.rulesFiles.values.flatMap(\.self)).contains(file)
    }
}

/// A checker that reads rules files like a router and summarizes them.
package struct RulesCheck: Sendable {
    /// The files in order of evaluation; empty for the built-in rules.
    package let files: [String]
    /// Files for the devices of single apps, evaluated first.
    private let ofApps: [String: [String]]
    private let platforms: KnownPlatforms

    /// `files` come before those of the configuration, if there is one.
    package init(files: [String], configuration: Configuration? = nil, _ platforms: KnownPlatforms) {
        self.files = files + (configuration?.rulesFiles ?? []).filter { !files.contains($0) }
        ofApps = configuration?.apps.rulesFiles ?? [:]
        self.platforms = platforms
    }

    /// All files that are read: the rules, and files that valid rules name, such as lists of keys.
    package var allFiles: [String] {
        let rules = files + ofApps.sorted { $0.key < $1.key }.flatMap(\.value).filter { !files.contains($0) }
        return rules + RulesFiles(files, ofApps: ofApps, platforms).otherFiles()
    }

    /// Returns one line for each file. Throws the errors of all files. Without errors, `warn` receives the warnings.
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

/// The result of a rules check.
struct RulesDiagnosis: OperatorAnswer {
    struct LineError: Codable, Sendable {
        /// Starts at 1; 0 for the file as a whole.
        var line: Int
        var column: Int
        var message: String
    }

    var isValid: Bool
    var rules: Int
    var mistakes: [LineError]
    /// Warnings: valid rules that are probably wrong.
    var warnings: [LineError]

    init(_ text: String, _ platforms: KnownPlatforms) {
        do {
            let book = try RuleBook(text, platforms)
            (isValid, rules, mistakes) = (true, book.rules.count, [])
            warnings = book.warnings.map(LineError.init)
        } catch {
            (isValid, rules, warnings) = (false, 0, [])
            mistakes = error.all.map(LineError.init)
        }
    }

    var text: String { (mistakes + warnings).map { "\($0.line):\($0.column): \($0.message)" }.joined(separator: "\n") }
}

extension RulesDiagnosis.LineError {
    fileprivate init(_ diagnostic: Diagnostic) {
        self.init(line: diagnostic.line, column: diagnostic.column, message: diagnostic.message)
    }
}
