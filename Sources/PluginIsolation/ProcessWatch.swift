import PluginProtocol
import Synchronization
import Units

/// Watches over one process, and ends it where it must end: when a call hangs, when it takes too much of a processor or
/// of memory, when it has lost its connection and lives on, or when somebody says so.
final class ProcessWatch: Sendable {
    private struct State {
        var calls: CallWatch
        var meter: ProcessorMeter
        /// When its memory was read last.
        var measuredAt = Deadline.distantPast
        /// Why the router ends it.
        var reason: String?
        /// Since when its end is awaited.
        var endingSince: Deadline?
        /// Whether the process is gone, and what leads to it closed.
        var isReaped = false
    }

    /// How long a process may live on that has closed a connection, or has lost one.
    private static let endingTime: Duration = .milliseconds(500)

    /// Memory is read at most that often, and about as often while the process is busy.
    private static let measuringPause: Duration = .milliseconds(200)
    /// What libraries may take beside data.
    private static let libraries = ByteCount.mebibytes(64)

    private let process: StartedProcess
    private let memory: ByteCount?
    private let questions: QuestionChannel
    private let isMetered: Bool
    private let now: @Sendable () -> Deadline
    private let state: Mutex<State>

    /// `processors`: how much of a processor it may take; `memory`: its limit for data; nil: no limit. It is pinged over `questions`, whose thread
    /// calls ``look(isBusy:)``.
    init(
        _ process: StartedProcess,
        _ calls: CallWatch,
        processors: Double?,
        memory: ByteCount?,
        over questions: QuestionChannel,
        now: @escaping @Sendable () -> Deadline
    ) {
        self.process = process
        self.memory = memory.map { ByteCount($0.bytes + Self.libraries.bytes) }
        self.questions = questions
        self.now = now
        isMetered = processors != nil
        state = Mutex(State(calls: calls, meter: ProcessorMeter(limit: processors)))
    }

    /// How long the thread may wait for its next look.
    func pace(isBusy: Bool) -> Duration {
        state.withLock { $0.endingSince == nil ? $0.calls.pace(isBusy: isBusy) : .milliseconds(20) }
    }

    /// Looks whether all is well.
    func look(isBusy: Bool) {
        let now = now()
        let isEndless = state.withLock { $0.endingSince.map { now - $0 >= Self.endingTime } ?? false }
        if isEndless { return kill(reason: "closed its connection to the router") }
        if takesTooMuchMemory(now) { return kill(reason: "took more memory than it may") }
        if isMetered, let used = process.control.processorTime(),
            state.withLock({ $0.meter.isExceeded(used: used, now: now) })
        {
            return kill(reason: "took more processor time than it may")
        }
        act(on: state.withLock { $0.calls.tick(now: now, isBusy: isBusy) })
    }

    /// The kernel's limit does not count all memory: neither what is shared nor what grows like a stack.
    private func takesTooMuchMemory(_ now: Deadline) -> Bool {
        guard let memory else { return false }
        let isDue = state.withLock { state in
            guard now - state.measuredAt >= Self.measuringPause else { return false }
            state.measuredAt = now
            return true
        }
        return isDue && process.residentMemory().map { $0 > memory } ?? false
    }

    /// The process says what it is inside of.
    func receive(_ pong: PongMessage) { act(on: state.withLock { $0.calls.receive(pong, now: now()) }) }

    private func act(on action: CallWatch.Action) {
        switch action {
        case .nothing: break
        case .ping:
            var writer = FrameWriter()
            writer.frame(.ping, id: 0)
            questions.send(writer.take())
        case .abort(let thread, let reason):
            state.withLock { state in
                if state.reason == nil { state.reason = reason }
            }
            process.control.abort(thread: thread)
        case .kill(let reason): kill(reason: reason)
        }
    }

    /// Ends the process at once. `reason` is the end of a sentence about it.
    func kill(reason: String) {
        state.withLock { state in
            if state.reason == nil { state.reason = reason }
            if state.endingSince == nil { state.endingSince = now() }
            // Its handle is closed by then, and may be that of another process.
            if !state.isReaped { process.control.kill() }
        }
        questions.socket.wake()
    }

    /// The process is to end by itself, and soon.
    func awaitEnd() {
        state.withLock { state in
            if state.endingSince == nil { state.endingSince = now() }
        }
        questions.socket.wake()
    }

    /// The process is gone: its number and its handle may be another's from now on. Returns why the router ended it.
    func reaped() -> String? {
        state.withLock { state in
            state.isReaped = true
            return state.reason
        }
    }
}
