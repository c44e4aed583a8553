import Core
import PluginHost
import Storage

extension Configuration {
    /// The plugins' folders and the settings of their processes.
    package struct Plugins: Sendable {
        /// Searched in order; the first library of a name wins.
        package var folders: [String] = []
        /// SHA-256 of a library by its file name, 64 hex digits; a library that differs is refused.
        package var pins: [String: String] = [:]
        /// How their processes are kept. Its program is empty where it has to be found first: ``processes(places:)``.
        package var isolation = IsolationSettings(program: "")
        /// Where all this stands; a line of 0 where no file was read.
        var place = (file: "plugins", line: 0, column: 0)

        package init(folders: [String] = [], pins: [String: String] = [:]) {
            self.folders = folders
            self.pins = pins
        }
    }
}

extension Configuration.Plugins {
    /// Seconds that loading and calls may take.
    static let deadlineRange = 1...600
    /// Seconds that questions may take for which somebody waits.
    static let questionDeadlineRange = 1...60
    /// With less no plugin works; 0 is no limit.
    static let leastMemory = 32
    static let memoryRange = 0...1_048_576
    /// Of one core; 0 is no limit.
    static let processorRange = 0...10_000

    /// Whether `new` says the same, but for folders and pins that come behind.
    package func isExtended(by new: Self) -> Bool {
        new.folders.starts(with: folders) && pins.allSatisfy { new.pins[$0.key] == $0.value }
            && new.isolation == isolation
    }
}

extension ConfigurationReader {
    /// Reads the block on plugins.
    func plugins(_ value: YAMLValue) -> Configuration.Plugins {
        var plugins = Configuration.Plugins(folders: pluginFolders)
        plugins.place = (value.file.name, value.place.line, value.place.column)
        var keys = [
            "folders", "sha256", "deadline_seconds", "question_deadline_seconds", "limits", "sandbox", "program",
            "python",
        ]
        if value.isMapping, let isolation = value.mapping()?["isolation"] {
            isolation.mistake(
                "this key is gone: every plugin runs in a process of its own, and those that come with Carillon share "
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
                pin.mistake("expected 64 hex digits, as sha256sum prints them")
            }
            plugins.pins[name] = digits
        }
        read(mapping, into: &plugins)
        return plugins
    }

    private func read(_ mapping: YAMLMapping, into plugins: inout Configuration.Plugins) {
        var settings = plugins.isolation
        if let seconds = mapping["deadline_seconds"]?.integer(in: Configuration.Plugins.deadlineRange) {
            settings.deadline = .seconds(seconds)
        }
        let questions = mapping["question_deadline_seconds"]
        if let seconds = questions?.integer(in: Configuration.Plugins.questionDeadlineRange) {
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
            value.mistake("expected 0 for no limit, or \(least) and more: plugins do not load with less")
        }
        settings.memory = count == 0 ? nil : .mebibytes(count)
    }
}
