import CIsolation
import Glibc
import PluginProtocol
import Synchronization
import Units

/// What a thread that calls plugins is inside of, for `pong` and for crash reports.
final class Activity: Sendable {
    private struct Shell: Sendable {
        var thread: UInt32 = 0
        /// As ``PongMessage/Call`` has it.
        var kind: UInt32 = 0
        var id: UInt64 = 0
        var since = Deadline.distantPast
    }

    private let shell = Mutex(Shell())

    /// It is the calling thread's.
    func adopt() { shell.withLock { $0.thread = Thread.number } }

    /// Runs a call to a plugin that is for `id`: a ticket, or a question.
    func during<Result>(_ kind: FrameKind, _ id: UInt64, _ call: () -> Result) -> Result {
        during(UInt32(kind.rawValue), id, call)
    }

    /// Runs the call of a timer.
    func during<Result>(timer: UInt64, _ call: () -> Result) -> Result {
        during(PongMessage.Call.timer, timer, call)
    }

    private func during<Result>(_ kind: UInt32, _ id: UInt64, _ call: () -> Result) -> Result {
        let now = Deadline.now()
        shell.withLock { shell in
            shell.kind = kind
            shell.id = id
            shell.since = now
        }
        carillon_note_call(id, kind)
        defer {
            carillon_note_call(0, 0)
            shell.withLock { $0.kind = 0 }
        }
        return call()
    }

    /// What it is inside of now.
    var report: PongMessage.Call {
        let shell = shell.withLock { $0 }
        guard shell.kind != 0 else { return PongMessage.Call(thread: shell.thread, kind: 0, id: 0, milliseconds: 0) }
        return PongMessage.Call(
            thread: shell.thread,
            kind: shell.kind,
            id: shell.id,
            milliseconds: UInt64(clamping: (Deadline.now() - shell.since).milliseconds)
        )
    }

    /// The ticket that the calling thread works for; 0: none.
    static var ticket: UInt64 {
        var kind: UInt32 = 0
        let id = carillon_noted_call(&kind)
        switch UInt16(exactly: kind).flatMap(FrameKind.init) {
        case .deliver, .deliverMany, .cancel, .response: return id
        default: return 0
        }
    }
}
