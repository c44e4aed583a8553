import CIsolation
import Glibc
import PluginProtocol

/// How the process gives up its rights: each of its threads enters the first stage before the first library is loaded,
/// and all of them the second after the last.
final class Confinement: Sendable {
    private struct State {
        /// What the first `load` says; nil: none has come.
        var first: LoadMessage?
        /// Threads that are in the first stage.
        var threads = 0
        /// What holds for all of them, as `CARILLON_CONFINED_…`.
        var bits: Int32 = CARILLON_CONFINED_FILES | CARILLON_CONFINED_CALLS
    }

    private static let threads = 3

    private let state = Monitor(State())

    /// The first `load` has come: sets the limits, and lets the threads go on.
    func begin(_ load: LoadMessage) {
        let failure = carillon_limit_memory(load.memoryLimit)
        if failure != 0 { Process.say("memory is not limited: \(String(cString: strerror(failure)))") }
        state.change { $0.first = load }
    }

    /// Waits for the first `load`, and takes the calling thread into the first stage. Each thread calls it once.
    func enter() {
        let load = state.wait(\.first)
        let bits = load.isSandboxed ? Self.confine(load.libraries) : 0
        state.change { state in
            state.threads += 1
            state.bits &= bits
        }
    }

    /// Waits for all threads; returns what confines them.
    func awaitAll() -> UInt32 {
        state.wait { $0.threads < Self.threads ? nil : UInt32(bitPattern: $0.bits) }
    }

    /// The second stage, for all threads; returns what confines the process then.
    func close(_ load: LoadMessage) -> UInt32 {
        guard load.isSandboxed else { return awaitAll() }
        let bits = carillon_confine_running()
        // What the first stage takes away is little compared with the second: alone it does not count.
        return UInt32(bitPattern: bits | state.change { $0.bits & CARILLON_CONFINED_FILES })
    }

    private static func confine(_ paths: [String]) -> Int32 {
        let copies = paths.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        let pointers = copies.map { UnsafePointer($0) }
        return pointers.withUnsafeBufferPointer { carillon_confine_loading($0.baseAddress, $0.count) }
    }
}
