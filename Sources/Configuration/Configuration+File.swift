import Foundation
import YAMLReading

extension Configuration {
    /// Reads the configuration file at `path`. Relative paths in it start from its own folder.
    ///
    /// `withoutCredentials` is for commands that run where the service's environment is not: what its variables would say in
    /// the blocks of apps may then be missing, and stands against the use of that block alone (``PlatformBlock/unset``).
    ///
    /// Throws all mistakes at once, each with its line and what was expected.
    package init(
        file path: String,
        withoutCredentials: Bool = false,
        environment: @escaping (String) -> String? = { ProcessInfo.processInfo.environment[$0] }
    ) throws(Diagnostics) {
        let text = try Self.text(of: path, what: "the configuration")
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        self = try ConfigurationReader(
            name: path,
            folder: folder,
            isWithoutCredentials: withoutCredentials,
            environment: environment
        ).read(text)
        file = path
    }

    /// The text of a file that a person wrote; a mistake when it cannot be had.
    static func text(of path: String, what: String) throws(Diagnostics) -> String {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw Diagnostics([
                Diagnostic(file: path, message: "cannot read \(what): does the file exist, and may we read it?")
            ])
        }
        guard let text = String(validating: data, as: UTF8.self) else {
            throw Diagnostics([Diagnostic(file: path, message: "\(what) must be UTF-8 text")])
        }
        return text
    }
}
