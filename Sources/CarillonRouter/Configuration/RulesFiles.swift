import Foundation
import Rules
import YAMLReading

/// Rules files that together are the rules, in their order.
struct RulesFiles {
    /// Of files that rules name, in bytes.
    private static let otherFileLimit = 16 << 20

    private let paths: [String]
    private let ofApps: [String: [String]]

    /// Without `paths` the built-in rules are the common ones. Those of `ofApps` come before them, each for the devices
    /// of one app.
    init(_ paths: [String], ofApps: [String: [String]] = [:]) {
        self.paths = paths
        self.ofApps = ofApps
    }

    /// Throws the mistakes of all files, each under its own path; what can be read is checked also when something cannot.
    func read() throws(Mistakes) -> RuleBook {
        var mistakes: [Mistake] = []
        let common =
            paths.isEmpty
            ? [RulesFile(name: RuleBook.defaultName, text: RuleBook.defaultYAML)] : Self.files(paths, &mistakes)
        var own: [String: [RulesFile]] = [:]
        for (app, paths) in ofApps.sorted(by: { $0.key < $1.key }) { own[app] = Self.files(paths, &mistakes) }
        do {
            let book = try RuleBook(files: common, ofApps: own)
            if mistakes.isEmpty { return book }
        } catch {
            mistakes += error.all
        }
        throw Mistakes(mistakes)
    }

    private static func files(_ paths: [String], _ mistakes: inout [Mistake]) -> [RulesFile] {
        var files: [RulesFile] = []
        for path in paths {
            do {
                let text = try Configuration.text(of: path, what: "the rules")
                files.append(
                    RulesFile(name: path, text: text) { other throws(RulesFile.Unreadable) in
                        try Self.text(of: other, besides: path)
                    }
                )
            } catch {
                mistakes += error.all
            }
        }
        return files
    }

    /// The text of a file that the rules in `rulesFile` name; a relative path starts from their folder.
    private static func text(of path: String, besides rulesFile: String) throws(RulesFile.Unreadable) -> String {
        let folder = URL(filePath: rulesFile).deletingLastPathComponent()
        let file = path.hasPrefix("/") ? URL(filePath: path) : folder.appending(path: path)
        guard let handle = try? FileHandle(forReadingFrom: file) else {
            throw RulesFile.Unreadable("cannot be read: does the file exist, and may we read it?")
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
