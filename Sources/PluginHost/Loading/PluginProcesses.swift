import Logging
import PluginIsolation
import PluginProtocol
import Synchronization

/// The processes that plugins run in.
final class PluginProcesses: Sendable {
    /// The libraries that come with Carillon; they share one process unless the operator wants otherwise.
    private static let shipped = Set(
        [
            "APNs", "FCM", "UnifiedPush", "WebPush", "Ntfy", "Gotify", "Webhook", "HTTPTemplate", "Mutes", "WebOfTrust",
            "Noise", "HMS", "Email", "MQTT", "Telegram",
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

    /// Where the plugin in a file of that name runs.
    func isolation(of name: String) -> Isolation {
        settings.plugins[name] ?? settings.usual ?? (Self.shipped.contains(name) ? .shared : .process)
    }

    /// Starts the process for files: plugins in Python have another program.
    private func launch(for files: [TrustedFile]) -> (@Sendable () throws(StartError) -> StartedProcess)? {
        guard files.contains(where: { $0.candidate.isPython }) else { return nil }
        let python = settings.python
        return { () throws(StartError) -> StartedProcess in try ChildProcess.start(python) }
    }

    /// Loads files into one new process.
    func load(_ files: [TrustedFile]) -> [Result<IsolatedPlugin, PluginRefusal.Reason>] {
        guard !files.isEmpty else { return [] }
        let supervisor = ChildSupervisor(
            settings: settings,
            log: log,
            launch: launch(for: files),
            onRemake: hostRemakes,
            onMistake: hostMistake,
            states: hostStates,
            openStream: hostOpenStream
        )
        let results = IsolatedPlugin.load(files.map(\.library), into: supervisor)
        if results.contains(where: { if case .success = $0 { true } else { false } }) {
            supervisors.withLock { $0.append(supervisor) }
        }
        return results.map { $0.mapError(PluginRefusal.Reason.init) }
    }

    /// Loads files into processes that end right after, to see whether they can be loaded at all. Those that come with
    /// Carillon are trusted not to harm each other, and share one.
    func probe(_ files: [TrustedFile]) -> [Result<Void, PluginRefusal.Reason>] {
        let shipped = files.filter { Self.shipped.contains($0.candidate.name) }
        let others = files.filter { !Self.shipped.contains($0.candidate.name) }
        var failures: [String: PluginRefusal.Reason] = [:]
        for group in (shipped.isEmpty ? [] : [shipped]) + others.map({ [$0] }) {
            let supervisor = ChildSupervisor(settings: settings, log: log)
            for (file, result) in zip(group, IsolatedPlugin.load(group.map(\.library), into: supervisor)) {
                if case .failure(let failure) = result { failures[file.candidate.path] = PluginRefusal.Reason(failure) }
            }
        }
        return files.map { file in failures[file.candidate.path].map { .failure($0) } ?? .success(()) }
    }

    /// Ends the processes that nothing uses at the moment.
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

/// A plugin's file that was found to be in order.
struct TrustedFile: Sendable {
    let candidate: PluginCandidate
    let pin: String?
    let file: PluginFile

    /// The library for a process, which looks at the file again before each start: it may have been replaced.
    var library: IsolatedLibrary {
        IsolatedLibrary(path: file.path) { [self] in
            do throws(PluginRefusal) {
                let now = try PluginFile(candidate, pin: pin)
                return now.sha256 == file.sha256 ? nil : "\(PluginRefusal.Reason.replacedWhileLoaded)"
            } catch {
                return "\(error.reason)"
            }
        }
    }
}

extension PluginRefusal.Reason {
    init(_ failure: LoadFailure) {
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
