import Logging
import PluginProtocol
import Synchronization

/// The processes of plugins.
final class PluginProcesses: Sendable {
    /// The libraries that come with Carillon.
    private static let shipped = Set(
        [
            "APNs", "FCM", "UnifiedPush", "WebPush", "Ntfy", "Gotify", "Webhook", "HTTPTemplate", "Mutes", "WebOfTrust",
            "Noise", "Email", "MQTT", "Telegram",
        ].map {
            "libCarillon\($0).so"
        }
    )

    private let settings: IsolationSettings
    private let log: Logger
    private let supervisors = Mutex<[ChildSupervisor]>([])

    init(_ settings: IsolationSettings, log: Logger) {
        self.settings = settings
        self.log = log
    }

    /// Whether the plugin in a file of that name shares a process with others. Carillon's own plugins do; all others
    /// have a separate one.
    static func isShared(_ name: String) -> Bool { shipped.contains(name) }

    /// Starts the process for files; Python plugins have another program.
    private func launch(for files: [TrustedFile]) -> (@Sendable () throws(StartError) -> StartedProcess)? {
        guard files.contains(where: { $0.candidate.isPython }) else { return nil }
        let python = settings.python
        return { () throws(StartError) -> StartedProcess in try ChildProcess.start(python) }
    }

    /// Loads a file into a new process.
    func load(_ file: TrustedFile) -> Result<IsolatedPlugin, PluginLoadError.Reason> {
        load([file]).first ?? .failure(.noProcess("it was not loaded"))
    }

    /// Loads files into one new process.
    func load(_ files: [TrustedFile]) -> [Result<IsolatedPlugin, PluginLoadError.Reason>] {
        guard !files.isEmpty else { return [] }
        let supervisor = ChildSupervisor(
            settings: settings,
            log: log,
            launch: launch(for: files)
        )
        let results = IsolatedPlugin.load(files.map(\.library), into: supervisor)
        if results.contains(where: { if case .success = $0 { true } else { false } }) {
            supervisors.withLock { $0.append(supervisor) }
        }
        return results.map { $0.mapError(PluginLoadError.Reason.init) }
    }

    /// Ends processes that are currently unused.
    func rest() {
        for supervisor in current { supervisor.rest() }
    }

    var reports: [PluginProcessReport] { current.map(\.report) }

    private var current: [ChildSupervisor] {
        supervisors.withLock { supervisors in
            supervisors = supervisors.flatMap(\.supervisors).filter { !$0.isStopped }
            return supervisors
        }
    }
}

/// A plugin's file that passed all checks.
struct TrustedFile: Sendable {
    let candidate: PluginCandidate
    let pin: String?
    let file: PluginFile

    /// The library for a process. The file is checked again before each start, because it may have been replaced.
    var library: IsolatedLibrary {
        IsolatedLibrary(path: file.path) { [self] in
            do throws(PluginLoadError) {
                let now = try PluginFile(candidate, pin: pin)
                return now.sha256 == file.sha256 ? nil : "\(PluginLoadError.Reason.replacedWhileLoaded)"
            } catch {
                return "\(error.reason)"
            }
        }
    }
}

extension PluginLoadError.Reason {
    init(_ failure: LoadError) {
        switch failure {
        case .notStarted(let text): self = .noProcess(PluginText.printable(text))
        case .died(let end, let text):
            if end.reason != nil {
                self = .ended(PluginText.printable(text))
            } else if end.signal == 0 {
                self = .exited(status: end.status)
            } else {
                self = .crashed(PluginText.printable(text))
            }
        case .unloadable(let message):
            switch message.reason {
            case .linker: self = .notLoadable(PluginText.printable(message.text))
            case .noEntry: self = .noEntry
            case .otherMajor: self = .otherMajor(Int(message.number))
            case .refusedItself: self = .refusedItself
            case .malformedDescriptor: self = .badDescriptor(PluginText.printable(message.text))
            case .raised: self = .raised(PluginText.printable(message.text))
            }
        }
    }
}
