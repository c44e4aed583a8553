import CSpawn
import Core
import Glibc
import PluginProtocol
import Synchronization

@testable import PluginHost

/// A process that consists only of the far ends of its connections; the test sends its messages.
final class ScriptedChild: Sendable {
    /// Ends by being killed, or when the test ends it.
    private final class Control: ProcessControl {
        let id: Int32 = 4711
        let handle: Int32
        private let end = Mutex<ProcessExit?>(nil)
        private let abortedThreads = Mutex<[UInt32]>([])

        init() { handle = carillon_wakeup() }

        var aborted: [UInt32] { abortedThreads.withLock(\.self) }

        func end(_ how: ProcessExit) {
            let isFirst = end.withLock { end in
                defer { end = end ?? how }
                return end == nil
            }
            guard isFirst else { return }
            var one: UInt64 = 1
            _ = write(handle, &one, 8)
        }

        func kill() { end(ProcessExit(signal: SIGKILL, status: 0)) }
        func abort(thread: UInt32) { abortedThreads.withLock { $0.append(thread) } }
        func reap() -> ProcessExit? { end.withLock(\.self) }
        func processorTime() -> Duration? { nil }
    }

    let started: StartedProcess
    private let control = Control()
    private let deliveries: Int32
    private let questions: Int32
    private let deliveryFrames = Mutex(FrameBuffer(taking: FrameKind.deliveries))
    private let questionFrames = Mutex(FrameBuffer(taking: FrameKind.questions))

    init() throws {
        guard let deliveries = ChildProcess.socketPair(), let questions = ChildProcess.socketPair() else {
            throw StartError("no sockets")
        }
        var pipes: [[Int32]] = [[0, 0], [0, 0]]
        for index in 0..<2 { guard carillon_pipe(&pipes[index]) == 0 else { throw StartError("no pipe") } }
        for pipe in pipes { close(pipe[1]) }
        self.deliveries = deliveries.theirs
        self.questions = questions.theirs
        started = StartedProcess(
            control: control,
            deliveries: deliveries.ours,
            questions: questions.ours,
            crashes: pipes[0][0],
            errors: pipes[1][0]
        )
    }

    deinit {
        close(deliveries)
        close(questions)
    }

    /// The threads that the router aborted.
    var aborted: [UInt32] { control.aborted }

    /// The process exits.
    func exit(_ status: Int32) {
        hangUp()
        control.end(ProcessExit(signal: 0, status: status))
    }

    /// Kills the process from outside.
    func kill() {
        control.kill()
        hangUp()
    }

    /// It closes its connections, and lives on.
    func hangUp() {
        shutdown(deliveries, Int32(SHUT_RDWR))
        shutdown(questions, Int32(SHUT_RDWR))
    }

    func hello() {
        say(.hello, id: 0) { HelloMessage(deliveries: 1, questions: 2).write(to: &$0) }
    }

    /// Sends a frame over the socket of its kind.
    func say(_ kind: FrameKind, id: UInt64, _ body: (inout FrameWriter) -> Void = { _ in }) {
        var writer = FrameWriter()
        writer.frame(kind, id: id, body)
        send(writer.take(), overDeliveries: FrameKind.results.contains(kind))
    }

    func send(_ bytes: [UInt8], overDeliveries: Bool) {
        _ = Glibc.send(overDeliveries ? deliveries : questions, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// Whether the router closes the connection of questions within 20 s. Questions until then are lost.
    var isHungUpOn: Bool {
        var room = [UInt8](repeating: 0, count: 1 << 16)
        var polled = pollfd(fd: questions, events: Int16(POLLIN), revents: 0)
        while poll(&polled, 1, 20_000) > 0 { if recv(questions, &room, room.count, 0) <= 0 { return true } }
        return false
    }

    /// The router's next frames, waited for up to 20 s; empty if none came.
    func nextDeliveries() throws -> [(kind: FrameKind, id: UInt64)] { try next(deliveries, deliveryFrames) }
    func nextQuestions() throws -> [(kind: FrameKind, id: UInt64)] { try next(questions, questionFrames) }

    /// The next questions, without the watchdog's pings, which may come at any time.
    func nextAsked() throws -> [(kind: FrameKind, id: UInt64)] {
        while true {
            let frames = try nextQuestions()
            let asked = frames.filter { $0.kind != .ping }
            if frames.isEmpty || !asked.isEmpty { return asked }
        }
    }

    private func next(
        _ descriptor: Int32,
        _ buffer: borrowing Mutex<FrameBuffer>
    ) throws -> [(
        kind: FrameKind, id: UInt64
    )] {
        var found: [(kind: FrameKind, id: UInt64)] = []
        var room = [UInt8](repeating: 0, count: 1 << 16)
        while found.isEmpty {
            var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&polled, 1, 20_000) > 0 else { return [] }
            let count = recv(descriptor, &room, room.count, 0)
            guard count > 0 else { return [] }
            let frames = try buffer.withLock { buffer in
                room.withUnsafeBytes { buffer.append(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
                var frames: [(kind: FrameKind, id: UInt64)] = []
                try buffer.drain { frames.append(($0.kind, $0.id)) }
                return frames
            }
            found += frames
        }
        return found
    }
}
