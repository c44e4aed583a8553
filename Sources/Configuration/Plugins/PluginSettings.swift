import Core
import PluginHost
import Storage

extension Configuration {
    /// The plugins' folders and the settings of their processes.
    package struct Plugins: Sendable {
        /// Searched in order; the first library of a name is loaded.
        package var folders: [String] = []
        /// SHA-256 of a library by its file name, 64 hex digits; a library that differs is refused.
        package var pins: [String: String] = [:]
        /// The settings of plugin processes. The program is empty if it must be found first: ``processes(places:)``.
        package var isolation = IsolationSettings(program: "")
        /// The position of the block; line 0 if no file was read.
        var place = (file: "plugins", line: 0, column: 0)

        package init(folders: [String] = [], pins: [String: String] = [:]) {
            self.folders = folders
            self.pins = pins
        }
    }
}

extension Configuration.Plugins {
    /// The allowed time limits for loading and calls, in seconds.
    static let deadlineRange = 1...600
    /// The allowed time limits for synchronous calls such as checks, in seconds.
    static let questionDeadlineRange = 1...60
    /// The minimum that plugins need to work, in MiB; 0: no limit.
    static let leastMemory = 32
    static let memoryRange = 0...1_048_576
    /// In percent of one core; 0: no limit.
    static let processorRange = 0...10_000

    /// Whether `new` is the same, except for folders and pins added at the end.
    package func isExtended(by new: Self) -> Bool {
        new.folders.starts(with: folders) && pins.allSatisfy { new.pins[$0.key] == $0.value }
            && new.isolation == isolation
    }
}

extension ConfigurationReader {
    func plugins(_ value: YAMLValue) -> Configuration.Plugins {
        var plugins = Configuration.Plugins(folders: pluginFolders)
        plugins.place = (value.file.name, value.place.line, value.place.column)
        var keys = [
            "folders", "sha256", "deadline_seconds", "question_deadline_seconds", "limits", "sandbox", "program",
            "python",
        ]
        if value.isMapping, let isolation = value.mapping()?["isolation"] {
            isolation.mistake(
                "this key was removed: every plugin runs in its own process, and those that come with Carillon share "
                    + "one. Remove the key"
            )
            // One error is enough.
            keys.append("isolation")
        }
        guard let mapping = value.mapping(keys: keys) else { return plugins }
        if let folders = mapping["folders"] {
            plugins.folders = folders.oneOrMore().compactMap { $0.string() }.map(path)
        }
        for (name, pin) in mapping["sha256"]?.mapping()?.members ?? [] {
            guard let digits = pin.string()?.lowercased() else { continue }
            if digits.utf8.count != 64 || !digits.allSatisfy(\.isHexDigit) {
                pin.mistake("expected 64 hex digits, as printed by sha256sum")
            }
            plugins.pins[name] = digits
        }
        read(mapping, into: &plugins)
        return plugins
    }

    private func read(_ mapping: YAMLMapping, into plugins: inout Configuration.Plugins) {
        var settings = plugins.isolation
        if let seconds = mapping["deadline_seconds"]?.integer(of: .seconds, in: Configuration.Plugins.deadlineRange) {
            settings.deadline = .seconds(seconds)
        }
        let questions = mapping["question_deadline_seconds"]
        if let seconds = questions?.integer(of: .seconds, in: Configuration.Plugins.questionDeadlineRange) {
            settings.questionDeadline = .seconds(seconds)
        }
        if let limits = mapping["limits"]?.mapping(keys: ["memory_mib", "cpu_percent"]) {
            if let memory = limits["memory_mib"] { read(memory: memory, into: &settings) }
            if let percent = limits["cpu_percent"]?.integer(in: Configuration.Plugins.processorRange) {
                settings.processors = percent == 0 ? nil : Double(percent) / 100
            }
        }
        if let sandbox = mapping["sandbox"]?.bool() { settings.isSandboxed = sandbox }
        if let program = mapping["program"]?.string() { settings.program = path(program) }
        if let python = mapping["python"]?.string() { settings.python.interpreter = path(python) }
        plugins.isolation = settings
    }

    private func read(memory value: YAMLValue, into settings: inout IsolationSettings) {
        let least = Configuration.Plugins.leastMemory
        guard let count = value.integer(in: Configuration.Plugins.memoryRange) else { return }
        if count > 0, count < least {
            value.mistake("expected 0 (no limit) or at least \(least), which plugins need to load")
        }
        settings.memory = count == 0 ? nil : .mebibytes(count)
    }
}
