import Core
import PluginProtocol
import Synchronization

/// Watches one process and kills it if a call hangs, if it uses too much processor time or memory, if it outlives its
/// connection, or on request.
final class ProcessWatch: Sendable {
    private struct State {
        var calls: CallWatch
        var meter: ProcessorMeter
        /// When its memory was last read.
        var measuredAt = Deadline.distantPast
        /// Why the router ends it.
        var reason: String?
        /// When the wait for its end started.
        var endingSince: Deadline?
        /// Whether the process is gone, and its descriptors closed.
        var isReaped = false
    }

    /// How long a process may outlive a closed connection.
    private static let endingTime: Duration = .milliseconds(500)

    /// The minimum interval of memory checks, and roughly their interval while the process is busy.
    private static let measuringPause: Duration = .milliseconds(200)
    /// The allowance for libraries in addition to data.
    private static let libraries = ByteCount.mebibytes(64)

    private let process: StartedProcess
    private let memory: ByteCount?
    private let questions: QuestionChannel
    private let isMetered: Bool
    private let now: @Sendable () -> Deadline
    private let state: Mutex<State>

    /// `processors`: its maximum processor share; `memory`: its limit for data; nil: no limit. It is pinged over
    /// `questions`, whose thread calls ``look(isBusy:)``.
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

    /// How long the thread may wait for its next check.
    func pace(isBusy: Bool) -> Duration {
        state.withLock { $0.endingSince == nil ? $0.calls.pace(isBusy: isBusy) : .milliseconds(20) }
    }

    func look(isBusy: Bool) {
        let now = now()
        let isEndless = state.withLock { $0.endingSince.map { now - $0 >= Self.endingTime } ?? false }
        if isEndless { return kill(reason: "closed its connection to the router") }
        if takesTooMuchMemory(now) { return kill(reason: "exceeded its memory limit") }
        if isMetered, let used = process.control.processorTime(),
            state.withLock({ $0.meter.isExceeded(used: used, now: now) })
        {
            return kill(reason: "exceeded its processor limit")
        }
        act(on: state.withLock { $0.calls.tick(now: now, isBusy: isBusy) })
    }

    /// The kernel's limit misses some memory: shared memory, and memory that grows like a stack.
    private func takesTooMuchMemory(_ now: Deadline) -> Bool {
        guard let memory else { return false }
        let isDue = state.withLock { state in
            guard now - state.measuredAt >= Self.measuringPause else { return false }
            state.measuredAt = now
            return true
        }
        return isDue && process.residentMemory().map { $0 > memory } ?? false
    }

    /// Handles the process's report of its calls.
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

    /// Kills the process. `reason` is the end of a sentence about it.
    func kill(reason: String) {
        state.withLock { state in
            if state.reason == nil { state.reason = reason }
            if state.endingSince == nil { state.endingSince = now() }
            // Afterwards its handle is closed, and may belong to another process.
            if !state.isReaped { process.control.kill() }
        }
        questions.socket.wake()
    }

    /// Expects the process to end on its own soon.
    func awaitEnd() {
        state.withLock { state in
            if state.endingSince == nil { state.endingSince = now() }
        }
        questions.socket.wake()
    }

    /// Notes that the process is gone: its number and handle may be reused from now on. Returns why the router ended
    /// it.
    func reaped() -> String? {
        state.withLock { state in
            state.isReaped = true
            return state.reason
        }
    }
}

/// Detects hanging calls: asks the process for its current calls, and limits their duration. Pure.
struct CallWatch: Sendable {
    enum Action: Sendable, Equatable {
        case nothing
        /// Ask the process for its current calls.
        case ping
        /// Abort this thread of the process, so that it reports its stack; `reason` explains it.
        case abort(thread: UInt32, reason: String)
        case kill(reason: String)
    }

    /// How long an aborted process may take to report its stack.
    private static var grace: Duration { .milliseconds(300) }

    private let deadline: Duration
    private let questionDeadline: Duration
    private let interval: Duration
    private var pingedAt: Deadline?
    private var askedAt = Deadline.distantPast
    /// Since when the process is idle; nil: it is busy.
    private var idleSince: Deadline?
    private var aborted: (at: Deadline, reason: String)?

    init(deadline: Duration, questionDeadline: Duration) {
        self.deadline = deadline
        self.questionDeadline = questionDeadline
        interval = min(.seconds(1), min(deadline, questionDeadline) / 3)
    }

    /// How long ``tick(now:isBusy:)`` may wait.
    func pace(isBusy: Bool) -> Duration {
        guard aborted == nil else { return Self.grace / 3 }
        return isBusy ? interval : max(interval, .seconds(1))
    }

    /// Checks the time. `isBusy`: the process has work. An idle process is asked rarely, because a timer may hang.
    mutating func tick(now: Deadline, isBusy: Bool) -> Action {
        if let aborted { return now - aborted.at >= Self.grace ? .kill(reason: aborted.reason) : .nothing }
        if let pingedAt {
            return now - pingedAt > deadline ? .kill(reason: "did not answer within \(Self.text(deadline))") : .nothing
        }
        guard isDue(now: now, isBusy: isBusy) else { return .nothing }
        pingedAt = now
        askedAt = now
        return .ping
    }

    private mutating func isDue(now: Deadline, isBusy: Bool) -> Bool {
        guard !isBusy else {
            idleSince = nil
            return now - askedAt >= interval
        }
        let since = idleSince ?? now
        idleSince = since
        return now - max(since, askedAt) >= deadline
    }

    /// Handles the process's report of its calls.
    mutating func receive(_ pong: PongMessage, now: Deadline) -> Action {
        pingedAt = nil
        guard aborted == nil else { return .nothing }
        for call in [pong.deliveries, pong.questions] where call.kind != 0 {
            let kind = UInt16(exactly: call.kind).flatMap(FrameKind.init(rawValue:))
            let limit = limit(of: kind)
            guard call.milliseconds > UInt64(clamping: limit.milliseconds) else { continue }
            let name = kind.map { "\($0)" } ?? (call.kind == PongMessage.Call.timer ? "a timer" : "a call")
            let reason = "did not return from \(name) within \(Self.text(limit))"
            aborted = (now, reason)
            return .abort(thread: call.thread, reason: reason)
        }
        return .nothing
    }

    /// How long a call for a frame of this kind may take.
    func limit(of kind: FrameKind?) -> Duration {
        switch kind {
        case .validate, .check, .decide: questionDeadline
        default: deadline
        }
    }

    private static func text(_ span: Duration) -> String {
        span.milliseconds % 1_000 == 0 ? "\(span.seconds) s" : "\(span.milliseconds) ms"
    }
}

/// Detects excessive processor time, on average over ten seconds. Pure.
struct ProcessorMeter: Sendable {
    private static var window: Duration { .seconds(10) }

    /// The maximum share of one core; nil: no limit.
    private let limit: Double?
    private var samples: [(at: Deadline, used: Duration)] = []

    init(limit: Double?) { self.limit = limit }

    /// Records the processor time `used` up to `now`. True: it exceeds the limit.
    mutating func isExceeded(used: Duration, now: Deadline) -> Bool {
        guard let limit else { return false }
        if let last = samples.last, now - last.at < Self.window / 20 { return false }
        samples.append((now, used))
        // The average starts at the newest sample that is old enough.
        while samples.count > 1, now - samples[1].at >= Self.window { samples.removeFirst() }
        let first = samples[0]
        guard now - first.at >= Self.window else { return false }
        return used - first.used > (now - first.at) * limit
    }
}
