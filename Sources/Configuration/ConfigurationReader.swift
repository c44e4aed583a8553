import Foundation
import Storage

/// Parses a configuration file; collects every error with its line.
struct ConfigurationReader {
    /// The folder that relative paths in the file start from.
    let folder: String
    private let file: YAMLFile
    /// The plugin folders if the file names none.
    private let pluginFolders: [String]
    /// Whether blocks of apps may lack values of environment variables.
    let isWithoutCredentials: Bool

    init(
        name: String,
        folder: String,
        isWithoutCredentials: Bool = false,
        pluginFolders: [String] = [],
        environment: @escaping (String) -> String?
    ) {
        self.pluginFolders = pluginFolders
        self.folder = folder
        self.isWithoutCredentials = isWithoutCredentials
        self.file = YAMLFile(name: name, environment: environment)
    }

    func read(_ text: String) throws(Diagnostics) -> Configuration {
        let configuration = file.parse(text).flatMap(configuration)
        try file.throwMistakes()
        guard let configuration else { throw Diagnostics([Diagnostic(file: file.name, message: "expected a mapping")]) }
        return configuration
    }

    /// Returns as much of a configuration as can be read despite errors; nil: the text is not a mapping.
    func readLeniently(_ text: String) -> Configuration? { file.parse(text).flatMap(configuration) }

    private func configuration(_ top: YAMLValue) -> Configuration? {
        var configuration = Configuration(keyFile: "", storePath: "")
        configuration.plugins = Configuration.Plugins(folders: pluginFolders)
        return Configuration.block.read(top, into: &configuration, self) ? configuration : nil
    }

    /// Reads one path of a rules file, or a list of them.
    func rulesFiles(_ value: YAMLValue) -> [String] {
        let values = value.oneOrMore()
        if values.isEmpty { value.mistake("expected a rules file, or a list of them") }
        return values.reduce(into: []) { files, value in
            guard let file = value.string().map(path) else { return }
            if files.contains(file) { value.mistake("\(file) is named twice") }
            files.append(file)
        }
    }

    /// Resolves `name` from this file's folder, unless it is absolute.
    func path(_ name: String) -> String {
        name.hasPrefix("/") || folder.isEmpty ? name : folder + "/" + name
    }
}

extension Configuration {
    /// Reads the configuration file at `path`. Relative paths in it start from its own folder.
    ///
    /// `withoutCredentials` is for commands that run without the service's environment. Variables in the blocks of apps
    /// may then be missing, which only prevents the use of that block (``PlatformBlock/unset``).
    ///
    /// Throws all errors together, each with its line and the expected value.
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
            pluginFolders: Self.Plugins.installedFolders,
            environment: environment
        ).read(text)
        file = path
    }

    /// Reads a configuration with errors, for commands that only query the running router: as much of it as can be
    /// read, or only its `store.path`. Returns nil if even that fails.
    package init?(toAskRouterOf path: String) {
        guard let text = try? Self.text(of: path, what: "the configuration") else { return nil }
        // These commands need no key.
        let store = text.firstMatch(of: Self.storePath).map {
            "identity: { key_file: carillon.key }\nstore: { path: \($0.output.path) }"
        }
        let found = [text, store].lazy.compactMap { text in
            text.flatMap { text in
                ConfigurationReader(
                    name: path,
                    folder: URL(fileURLWithPath: path).deletingLastPathComponent().path,
                    isWithoutCredentials: true,
                    pluginFolders: Self.Plugins.installedFolders,
                    environment: { ProcessInfo.processInfo.environment[$0] }
                ).readLeniently(text)
            }
        }.first
        guard let found else { return nil }
        self = found
    }

    /// Finds the store's path if the rest of the text is not YAML.
    private static var storePath: Regex<(Substring, path: Substring)> {
        /\bstore["']?\s*:(?s:.{0,400}?)\bpath["']?\s*:\s*(?<path>"[^"\n]+"|'[^'\n]+'|[^\s,}#]+)/
    }

    /// Returns the text of a file that a person wrote. Throws an error if it cannot be read.
    static func text(of path: String, what: String) throws(Diagnostics) -> String {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw Diagnostics([
                Diagnostic(
                    file: path,
                    message: "cannot read \(what): check that the file exists and that this user may read it"
                )
            ])
        }
        guard let text = String(validating: data, as: UTF8.self) else {
            throw Diagnostics([Diagnostic(file: path, message: "\(what) must be UTF-8 text")])
        }
        return text
    }
}
