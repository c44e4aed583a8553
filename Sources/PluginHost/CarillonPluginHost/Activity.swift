import CIsolation
import Core
import Glibc
import PluginProtocol
import Synchronization

/// The current call of a thread that calls plugins, for `pong` and for crash reports.
///
/// One thread writes, and others read without blocking it: while the number of changes is odd, a write is in progress.
final class Activity: Sendable {
    /// A reader gives up after this many attempts: a thread that changes that fast does not hang.
    private static let attempts = 100

    private let changes = Atomic<UInt64>(0)
    private let thread = Atomic<UInt32>(0)
    /// The kind as in ``PongMessage/Call``.
    private let kind = Atomic<UInt32>(0)
    private let id = Atomic<UInt64>(0)
    /// In milliseconds of the monotonic clock.
    private let since = Atomic<Int64>(0)

    /// Assigns it to the calling thread.
    func adopt() { thread.store(Thread.number, ordering: .sequentiallyConsistent) }

    /// Runs a call to a plugin for `id`: a ticket, or a question.
    func during<Result>(_ kind: FrameKind, _ id: UInt64, _ call: () -> Result) -> Result {
        during(UInt32(kind.rawValue), id, call)
    }

    /// Runs a timer's call.
    func during<Result>(timer: UInt64, _ call: () -> Result) -> Result {
        during(PongMessage.Call.timer, timer, call)
    }

    private func during<Result>(_ kind: UInt32, _ id: UInt64, _ call: () -> Result) -> Result {
        set(kind, id, since: .nowRoughly())
        carillon_note_call(id, kind)
        defer {
            carillon_note_call(0, 0)
            self.kind.store(0, ordering: .relaxed)
        }
        return call()
    }

    private func set(_ kind: UInt32, _ id: UInt64, since: Deadline) {
        let change = changes.load(ordering: .relaxed)
        changes.store(change &+ 1, ordering: .relaxed)
        atomicMemoryFence(ordering: .releasing)
        self.kind.store(kind, ordering: .relaxed)
        self.id.store(id, ordering: .relaxed)
        self.since.store(since.milliseconds, ordering: .relaxed)
        changes.store(change &+ 2, ordering: .releasing)
    }

    /// The current call.
    var report: PongMessage.Call {
        let thread = thread.load(ordering: .sequentiallyConsistent)
        for _ in 0..<Self.attempts {
            let change = changes.load(ordering: .acquiring)
            let (kind, id) = (kind.load(ordering: .relaxed), id.load(ordering: .relaxed))
            let since = Deadline(milliseconds: since.load(ordering: .relaxed))
            atomicMemoryFence(ordering: .acquiring)
            guard change & 1 == 0, changes.load(ordering: .relaxed) == change else { continue }
            guard kind != 0 else { break }
            let span = UInt64(clamping: (Deadline.now() - since).milliseconds)
            return PongMessage.Call(thread: thread, kind: kind, id: id, milliseconds: span)
        }
        return PongMessage.Call(thread: thread, kind: 0, id: 0, milliseconds: 0)
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
