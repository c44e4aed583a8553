import CIsolation
import PluginProtocol
import Synchronization

/// A library that a process is to load.
package struct IsolatedLibrary: Sendable {
    /// Absolute.
    package let path: String
    /// Why the file is not the one that was meant, or nil. Asked before each start of a process.
    package let mistake: @Sendable () -> String?

    package init(path: String, mistake: @escaping @Sendable () -> String? = { nil }) {
        self.path = path
        self.mistake = mistake
    }

    /// What operators call it.
    var name: String { path.split(separator: "/").last.map(String.init) ?? path }
}

/// A library and what it said about itself when it was loaded first.
private struct LoadedLibrary: Sendable {
    let library: IsolatedLibrary
    let descriptor: DescriptorMessage
}

/// The libraries of a process: what the first one loaded, and each that follows loads again.
final class ProcessLibraries: Sendable {
    private struct State {
        var loaded: [LoadedLibrary] = []
        /// What confines the process that loaded last.
        var confinement: UInt32 = 0
    }

    private static let confinements = [
        (UInt32(CARILLON_CONFINED_FILES), "files"), (UInt32(CARILLON_CONFINED_CALLS), "system calls"),
    ]

    private let state: Mutex<State>

    private init(_ state: State) { self.state = Mutex(state) }

    convenience init() { self.init(State()) }

    /// Each by itself, for a process of its own.
    func parts() -> [ProcessLibraries] {
        state.withLock { state in
            state.loaded.map { ProcessLibraries(State(loaded: [$0], confinement: state.confinement)) }
        }
    }

    /// The number of the library in which a process crashed: that whose code is innermost in the stack.
    func guilty(_ crash: CrashReport, _ modules: [DescriptorMessage.Module]) -> UInt32? {
        let names = names
        return crash.files(modules).lazy.compactMap(names.firstIndex).first.map { UInt32($0) }
    }

    /// Loads libraries into a process, one after the other. One that the process does not survive is left out, and the
    /// rest goes on in a new process. Returns the last process, unless it has nothing to do or did not survive.
    func load(
        _ libraries: [IsolatedLibrary],
        with startup: ChildStartup
    ) -> (results: [Result<DescriptorMessage, LoadFailure>], session: ChildSession?) {
        var results: [Result<DescriptorMessage, LoadFailure>] = []
        var session: ChildSession?
        let paths = libraries.map(\.path)
        for library in libraries {
            do throws(LoadFailure) {
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

    /// A new process with what has been loaded so far.
    private func reopen(_ paths: [String], with startup: ChildStartup) throws(LoadFailure) -> ChildSession {
        let session = try startup.open()
        for loaded in state.withLock(\.loaded) {
            _ = try startup.load(loaded.library, of: paths, isLast: false, in: session)
        }
        return session
    }

    /// Has a new process load what a former one has loaded.
    func loadAgain(in session: ChildSession, with startup: ChildStartup) throws(LoadFailure) {
        let libraries = state.withLock(\.loaded)
        let paths = libraries.map(\.library.path)
        for (index, loaded) in libraries.enumerated() {
            let isLast = index == libraries.count - 1
            let descriptor = try startup.load(loaded.library, of: paths, isLast: isLast, in: session)
            guard descriptor.isSame(as: loaded.descriptor) else {
                throw .notStarted("\(loaded.library.path) describes itself in another way than before")
            }
            state.withLock { $0.confinement = descriptor.confinement }
            session.modules = descriptor.modules
        }
    }

    /// What operators call them.
    var names: [String] { state.withLock { $0.loaded.map(\.library.name) } }

    /// What confines the process, and what does not.
    var confinement: (present: [String], missing: [String]) {
        let flags = state.withLock(\.confinement)
        let present = Self.confinements.filter { flags & $0.0 != 0 }.map(\.1)
        return (present, Self.confinements.map(\.1).filter { !present.contains($0) })
    }
}

extension DescriptorMessage {
    /// Whether a library says the same about itself, wherever it lies in memory.
    fileprivate func isSame(as other: DescriptorMessage) -> Bool {
        id == other.id && version == other.version && abiMinor == other.abiMinor && transports == other.transports
            && filters == other.filters
    }
}
