import Core
import JSON
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
    /// Whether `new` is the same, except for folders and pins added at the end.
    package func isExtended(by new: Self) -> Bool {
        new.folders.starts(with: folders) && pins.allSatisfy { new.pins[$0.key] == $0.value }
            && new.isolation == isolation
    }
}

// MARK: The keys of the file

extension Configuration.Plugins {
    static var block: Block<Self> {
        Block(
            "The folders of plugins, and the limits for plugin processes. The plugins that come with Carillon share a process; "
                + "every other plugin has its own.",
            removed: [
                "isolation":
                    "this key was removed: every plugin runs in its own process, and those that come with Carillon share "
                    + "one. Remove the key"
            ]
        ) {
            Key.list("folders", \.folders) { value, reader in value.string().map(reader.path) }.about(
                "Searched in this order; the first library of a name is loaded. Default: the plugins installed with "
                    + "the program."
            )
            Key(
                "sha256",
                ["type": "object", "additionalProperties": ["type": "string", "pattern": "^[0-9A-Fa-f]{64}$"]]
            ) { value, plugins, _ in
                for (name, pin) in value.mapping()?.members ?? [] {
                    guard let digits = pin.string()?.lowercased() else { continue }
                    if digits.utf8.count != 64 || !digits.allSatisfy(\.isHexDigit) {
                        pin.mistake("expected 64 hex digits, as printed by sha256sum")
                    }
                    plugins.pins[name] = digits
                }
                return true
            }
            .about("SHA-256 checksums by a library's file name: a library that differs is refused.")
            Key.integer("deadline_seconds", \.isolation.deadline, of: .seconds, 1...600)
                .about(
                    "The time limit for loading a plugin and for a call; a process that exceeds it is restarted. Default: {default}."
                )
            Key.integer("question_deadline_seconds", \.isolation.questionDeadline, of: .seconds, 1...60)
                .about("The time limit for synchronous calls: validate, check and decide. Default: {default}.")
            Key.block("limits", limits)
            Key.flag("sandbox", \.isolation.isSandboxed)
                .about("Whether processes have no access to files, network and programs. Default: true.")
            Key.file("program", \.isolation.program)
                .about("The path of carillon-plugin-host, if it is not installed with carillon.")
            Key.file("python", \.isolation.python.interpreter)
                .about("The python3 for plugins in Python. Default: the system's.")
        } check: { mapping, plugins, _ in
            let value = mapping.value
            plugins.place = (value.file.name, value.place.line, value.place.column)
        }
    }

    private static var limits: Block<Self> {
        Block("Limits for one process.") {
            Key("memory_mib", \.isolation.memory, SchemaParts.integer(memoryRange)) { value, _ in
                guard let count = value.integer(in: memoryRange) else { return nil }
                if count > 0, count < leastMemory {
                    value.mistake("expected 0 (no limit) or at least \(leastMemory), which plugins need to load")
                }
                return .some(count == 0 ? nil : .mebibytes(count))
            }
            .about("Memory for data in MiB; 0: no limit. Default: 256.")
            Key("cpu_percent", \.isolation.processors, SchemaParts.integer(processorRange)) { value, _ in
                value.integer(in: processorRange).map { $0 == 0 ? nil : Double($0) / 100 }
            }
            .about("Percent of one core, on average over ten seconds; 0: no limit. Default: 0.")
        }
    }

    /// The minimum that plugins need to work, in MiB.
    private static let leastMemory = 32
    private static let memoryRange = 0...1_048_576
    /// In percent of one core.
    private static let processorRange = 0...10_000
}
