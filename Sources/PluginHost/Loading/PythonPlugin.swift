import Dispatch
import Logging
import PluginIsolation

/// A plugin in Python by itself, for whoever has no router: in a process of its own, which ends with the last function
/// of it that somebody holds.
package final class PythonPlugin: Sendable {
    /// What it says about itself. Its functions ask the process.
    package let descriptor: PluginDescriptor
    /// Runs what the header marks `[setup]`.
    package let setup = DispatchQueue(label: "carillon.plugin.setup")
    private let supervisor: ChildSupervisor

    /// Loads the file of `candidate` as a router does.
    package init(_ candidate: PluginCandidate, in programs: PythonPrograms) throws(PluginRefusal) {
        let file = TrustedFile(candidate: candidate, pin: nil, file: try PluginFile(candidate, pin: nil))
        var settings = IsolationSettings(program: "")
        settings.python = programs
        let silent = Logger(label: "carillon.plugin") { _ in SwiftLogNoOpLogHandler() }
        supervisor = ChildSupervisor(
            settings: settings,
            log: silent,
            launch: { () throws(StartError) -> StartedProcess in try ChildProcess.start(programs) }
        )
        guard let plugin = IsolatedPlugin.load([file.library], into: supervisor).first else {
            throw PluginRefusal(path: candidate.path, reason: .noProcess("it was not loaded"))
        }
        do throws(PluginRefusal.Reason) {
            descriptor = try PluginDescriptor(plugin.mapError(PluginRefusal.Reason.init).get())
        } catch {
            throw PluginRefusal(path: candidate.path, reason: error)
        }
    }

    /// How often its process has died so far, and the last time why.
    package var deaths: (count: Int, last: String?) {
        let report = supervisor.report
        return (report.deaths, report.lastDeath)
    }
}
