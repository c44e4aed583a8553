import Dispatch
import Logging
import Synchronization

/// A Python plugin for commands that run without a router. It has its own process, which ends with it.
package final class PythonPlugin: Sendable {
    package let descriptor: PluginDescriptor
    package let plugin: IsolatedPlugin
    /// Runs functions that the header marks `[setup]`.
    package let setup = DispatchQueue(label: "carillon.plugin.setup")
    private let supervisor: ChildSupervisor
    private let errors = PythonErrors()

    /// Loads the file of `candidate` as a router does.
    package init(_ candidate: PluginCandidate, in programs: PythonPrograms) throws(PluginLoadError) {
        let file = TrustedFile(candidate: candidate, pin: nil, file: try PluginFile(candidate, pin: nil))
        var settings = IsolationSettings(program: "")
        settings.python = programs
        settings.python.showsErrors = true
        let programs = settings.python
        supervisor = ChildSupervisor(
            settings: settings,
            log: errors.logger,
            launch: { () throws(StartError) -> StartedProcess in try ChildProcess.start(programs) }
        )
        guard let plugin = IsolatedPlugin.load([file.library], into: supervisor).first else {
            throw PluginLoadError(path: candidate.path, reason: .noProcess("it was not loaded"))
        }
        do throws(PluginLoadError.Reason) {
            self.plugin = try plugin.mapError(PluginLoadError.Reason.init).get()
            descriptor = try PluginDescriptor(self.plugin.descriptor)
        } catch {
            throw PluginLoadError(path: candidate.path, reason: error)
        }
    }

    /// How often its process has died, and the last reason.
    package var crashes: (count: Int, last: String?) {
        let report = supervisor.report
        return (report.crashes, report.lastCrash)
    }

    /// The traceback of the first exception that escaped from the plugin's functions since the last call.
    package func takeTraceback() -> String? {
        supervisor.catchUp()
        return errors.take()
    }
}

/// Finds the first traceback in the standard error of a plugin's process.
private final class PythonErrors: Sendable {
    private struct State {
        var traceback: [String] = []
        var isWhole = false
    }

    private let state = Mutex(State())

    var logger: Logger {
        var logger = Logger(label: "carillon.plugin") { _ in Handler(errors: self) }
        logger.logLevel = .debug
        return logger
    }

    func take() -> String? {
        state.withLock { state in
            defer { state = State() }
            return state.traceback.isEmpty ? nil : state.traceback.joined(separator: "\n")
        }
    }

    private func add(_ line: String) {
        state.withLock { state in
            guard !state.isWhole, !state.traceback.isEmpty || line.hasPrefix("Traceback (") else { return }
            // The error itself follows the indented steps that led to it.
            state.isWhole = !state.traceback.isEmpty && !line.hasPrefix(" ")
            state.traceback.append(line)
        }
    }

    private struct Handler: LogHandler {
        let errors: PythonErrors
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.debug

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { if let line = event.metadata?["line"] { errors.add("\(line)") } }
    }
}

/// `carillon-plugin-python`: the Python counterpart of `carillon-plugin-host`. It is a directory that `python3` runs.
package enum PythonProgram {
    package static let name = "carillon-plugin-python"

    /// The usual paths of the system's interpreter.
    package static let interpreters = ["/usr/bin/python3", "/usr/local/bin/python3", "/bin/python3"]

    /// Its possible paths for an executable in `folder`: in the build, or installed.
    package static func places(beside folder: String) -> [String] {
        let prefix = folder.split(separator: "/").dropLast().map { "/\($0)" }.joined()
        return [
            "\(folder)/\(name)", "\(folder)/carillon_PluginHost.resources/\(name)",
            "\(prefix)/libexec/carillon/\(name)", "\(prefix)/lib/carillon/\(name)",
        ]
    }
}
