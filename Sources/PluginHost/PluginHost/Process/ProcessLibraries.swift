import CIsolation
import PluginProtocol
import Synchronization

/// A library for a process to load.
package struct IsolatedLibrary: Sendable {
    /// Absolute.
    package let path: String
    /// Why the file is not the intended one, or nil. Called before each start of a process.
    package let mistake: @Sendable () -> String?

    package init(path: String, mistake: @escaping @Sendable () -> String? = { nil }) {
        self.path = path
        self.mistake = mistake
    }

    /// The display name for operators.
    var name: String { path.split(separator: "/").last.map(String.init) ?? path }
}

/// A library and the descriptor from its first loading.
private struct LoadedLibrary: Sendable {
    let library: IsolatedLibrary
    let descriptor: DescriptorMessage
}

/// The libraries of a process: loaded by the first one, and again by each later one.
final class ProcessLibraries: Sendable {
    private struct State {
        var loaded: [LoadedLibrary] = []
        /// The confinement of the process that loaded last.
        var confinement: UInt32 = 0
    }

    private static let confinements = [
        (UInt32(CARILLON_CONFINED_FILES), "files"), (UInt32(CARILLON_CONFINED_CALLS), "system calls"),
    ]

    private let state: Mutex<State>

    private init(_ state: State) { self.state = Mutex(state) }

    convenience init() { self.init(State()) }

    /// Splits them, one for each separate process.
    func parts() -> [ProcessLibraries] {
        state.withLock { state in
            state.loaded.map { ProcessLibraries(State(loaded: [$0], confinement: state.confinement)) }
        }
    }

    /// The number of the library in which a process crashed: the one with the innermost code in the stack.
    func guilty(_ crash: CrashReport, _ modules: [DescriptorMessage.Module]) -> UInt32? {
        let names = names
        return crash.files(modules).lazy.compactMap(names.firstIndex).first.map { UInt32($0) }
    }

    /// Loads libraries into a process, one after the other. A library that crashes the process is skipped, and the rest
    /// continues in a new process. Returns the last process, unless it has no work or crashed.
    func load(
        _ libraries: [IsolatedLibrary],
        with startup: ChildStartup
    ) -> (results: [Result<DescriptorMessage, LoadError>], session: ChildSession?) {
        var results: [Result<DescriptorMessage, LoadError>] = []
        var session: ChildSession?
        let paths = libraries.map(\.path)
        for library in libraries {
            do throws(LoadError) {
                let isLast = results.count == libraries.count - 1
                let current: ChildSession
                if let session { current = session } else { current = try reopen(paths, with: startup) }
                session = current
                let descriptor = try startup.load(library, of: paths, isLast: isLast, in: current)
                state.withLock { state in
                    state.loaded.append(LoadedLibrary(library: library, descriptor: descriptor))
                    state.confinement = descriptor.confinement
                }
                current.modules = descriptor.modules
                results.append(.success(descriptor))
            } catch {
                if case .unloadable = error {
                } else {
                    session?.close()
                    session = nil
                }
                results.append(.failure(error))
            }
        }
        guard results.contains(where: { if case .success = $0 { true } else { false } }) else {
            session?.close()
            return (results, nil)
        }
        return (results, session)
    }

    /// A new process with the libraries loaded so far.
    private func reopen(_ paths: [String], with startup: ChildStartup) throws(LoadError) -> ChildSession {
        let session = try startup.open()
        for loaded in state.withLock(\.loaded) {
            _ = try startup.load(loaded.library, of: paths, isLast: false, in: session)
        }
        return session
    }

    /// Makes a new process load the libraries of a previous one.
    func loadAgain(in session: ChildSession, with startup: ChildStartup) throws(LoadError) {
        let libraries = state.withLock(\.loaded)
        let paths = libraries.map(\.library.path)
        for (index, loaded) in libraries.enumerated() {
            let isLast = index == libraries.count - 1
            let descriptor = try startup.load(loaded.library, of: paths, isLast: isLast, in: session)
            guard descriptor.isSame(as: loaded.descriptor) else {
                throw .notStarted("\(loaded.library.path) has another descriptor than before")
            }
            state.withLock { $0.confinement = descriptor.confinement }
            session.modules = descriptor.modules
        }
    }

    /// Their display names for operators.
    var names: [String] { state.withLock { $0.loaded.map(\.library.name) } }

    /// The active and the missing confinement of the process.
    var confinement: (present: [String], missing: [String]) {
        let flags = state.withLock(\.confinement)
        let present = Self.confinements.filter { flags & $0.0 != 0 }.map(\.1)
        return (present, Self.confinements.map(\.1).filter { !present.contains($0) })
    }
}

extension DescriptorMessage {
    /// Whether two descriptors of a library are equal except for its addresses.
    fileprivate func isSame(as other: DescriptorMessage) -> Bool {
        id == other.id && version == other.version && abiMinor == other.abiMinor && transports == other.transports
            && filters == other.filters
    }
}
