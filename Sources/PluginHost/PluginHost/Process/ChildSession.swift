import CIsolation
import Core
import Foundation
import Glibc
import PluginProtocol
import Synchronization

/// One process from start to end: its sockets, its questions, and its watch.
///
/// It has two threads. One handles the socket of deliveries and sends buffered frames there. The other handles answers,
/// checks for hangs, and waits for the end of the process.
final class ChildSession: Sendable {
    /// The callbacks of the session, called on its threads.
    struct Handlers: Sendable {
        /// A frame of the socket of deliveries.
        var result: @Sendable (Frame, ChildSession) throws(ProtocolError) -> Void
        /// A question of the process.
        var question: @Sendable (Frame, ChildSession) throws(ProtocolError) -> Void
        /// Whether the process has open deliveries.
        var isBusy: @Sendable () -> Bool
        /// A line of its standard error.
        var line: @Sendable (String) -> Void
        /// It has ended, and everything it sent has been handled. Its open questions fail after this.
        var ended: @Sendable (ProcessExit, ChildSession) -> Void
    }

    private static let deliveryBacklog = ByteCount.mebibytes(8)

    private let process: StartedProcess
    private let deliveries: FrameSocket
    private let questions: QuestionChannel
    private let greeting = Handover<Bool>()
    private let handlers: Handlers
    private let watch: ProcessWatch
    private let now: @Sendable () -> Deadline
    /// The addresses of its libraries.
    private let places = Mutex<[DescriptorMessage.Module]>([])
    private let deliveriesEnded = DispatchSemaphore(value: 0)
    private let ending = Handover<ProcessExit>()
    /// The streams of its plugins.
    let streams = IsolatedStreams()

    /// The process ID.
    var id: Int32 { process.control.id }

    /// Takes over the process and its connections; ``start()`` must follow.
    init(
        _ process: StartedProcess,
        watch: CallWatch,
        processors: Double? = nil,
        memory: ByteCount? = nil,
        now: @escaping @Sendable () -> Deadline = Deadline.now,
        handlers: Handlers
    ) {
        self.process = process
        self.handlers = handlers
        self.now = now
        deliveries = FrameSocket(
            process.deliveries,
            taking: FrameKind.results,
            lingers: true,
            limit: Self.deliveryBacklog
        )
        questions = QuestionChannel(process.questions)
        self.watch = ProcessWatch(
            process,
            watch,
            processors: processors,
            memory: memory,
            over: questions,
            now: now
        )
    }

    /// Starts to handle the process's frames.
    func start() {
        Self.detach("plugin-deliveries") { self.handleDeliveries() }
        Self.detach("plugin-questions") { self.handleQuestions() }
    }

    private static func detach(_ name: String, _ body: @escaping @Sendable () -> Void) {
        let thread = Thread { body() }
        thread.name = name
        thread.start()
    }

    // MARK: Sending

    /// Sends frames over the socket of deliveries. With `mayRefuse` they are dropped if the process does not keep up.
    func send(_ frames: [UInt8], mayRefuse: Bool = false) -> FrameSocket.Sending {
        let result = deliveries.send(frames, mayRefuse: mayRefuse, now: now())
        if case .full = result, !mayRefuse { kill(reason: "was ended, because it does not read its input") }
        return result
    }

    /// Sends a frame whose body `body` writes over the socket of deliveries. False: it exceeds its limit.
    func send(_ kind: FrameKind, id: UInt64, _ body: (inout FrameWriter) -> Void) -> Bool {
        let result = deliveries.send(kind, id: id, now: now(), body)
        if case .full = result { kill(reason: "was ended, because it does not read its input") }
        return result != nil
    }

    /// Sends a frame over the socket of questions.
    func reply(_ frame: [UInt8]) { questions.send(frame) }

    /// Whether the process sent hello within `span`.
    func isGreeted(within span: Duration) -> Bool { greeting.take(within: span) ?? false }

    /// Asks a question and waits for its answer. Everything that the process sent before the answer is handled by then.
    func ask(_ kind: FrameKind, within span: Duration, _ body: (inout FrameWriter) -> Void) -> Answer {
        let answer = questions.ask(kind, within: span, body)
        if case .frame = answer { receiveResults() }
        return answer
    }

    /// Asks questions together, given as complete frames with any IDs, and waits for one answer to each, in order. The
    /// process answers them one after the other, and may take `span` for each. Everything that it sent before the last
    /// answer is handled by then.
    func ask(_ questions: [[UInt8]], within span: Duration) -> [Answer] {
        guard let answers = self.questions.ask(questions, within: span) else {
            return questions.map { _ in .unaskable }
        }
        receiveResults()
        return answers
    }

    /// Asks a question. Unless this is nil, `completion` is called once, possibly before this returns.
    @discardableResult
    func ask(
        _ kind: FrameKind,
        _ body: (inout FrameWriter) -> Void,
        then completion: @escaping OpenQuestions.Completion
    ) -> UInt64? {
        questions.ask(kind, body, then: completion)
    }

    /// The addresses of the process's libraries, which give names to addresses in a crash report.
    var modules: [DescriptorMessage.Module] {
        get { places.withLock(\.self) }
        set { places.withLock { $0 = newValue } }
    }

    // MARK: Ending

    /// How it ended; nil: it did not end within `span`.
    func end(within span: Duration) -> ProcessExit? { ending.take(within: span) }

    var hasEnded: Bool { ending.isGiven }

    /// Kills the process. `reason` is the end of a sentence about it.
    func kill(reason: String) { watch.kill(reason: reason) }

    /// Lets the process end on its own, because its connections close.
    func close() {
        watch.awaitEnd()
        deliveries.shut()
        questions.socket.shut()
    }

    /// Handles pending input of a socket. False: the socket is closed.
    private func receive(
        _ socket: FrameSocket,
        _ handle: (Frame) throws(ProtocolError) -> Void
    ) -> Bool {
        do throws(ProtocolError) {
            if case .open = try socket.receive(handle) { return true }
            watch.awaitEnd()
        } catch {
            kill(reason: "was ended, because \(error)")
        }
        return false
    }

    // MARK: Delivery thread

    private func handleDeliveries() {
        defer { deliveriesEnded.signal() }
        var polled = [
            pollfd(fd: deliveries.descriptor, events: 0, revents: 0),
            pollfd(fd: deliveries.wakeup, events: Int16(POLLIN), revents: 0),
        ]
        while true {
            let (events, milliseconds) = deliveries.interest()
            polled[0].events = events
            guard poll(&polled, 2, milliseconds ?? -1) >= 0 || errno == EINTR else { return watch.awaitEnd() }
            if polled[1].revents != 0 { deliveries.clearWakeup() }
            deliveries.flushIfDue(now: now(), isWritable: polled[0].revents & Int16(POLLOUT) != 0)
            let isReadable = polled[0].revents & ~Int16(POLLOUT) != 0 || events & Int16(POLLIN) == 0
            if isReadable, !receiveResults() { return }
        }
    }

    @discardableResult
    private func receiveResults() -> Bool {
        var isOpen = false
        // Receivers of one read's results are woken together, once each.
        WakeUps.together {
            isOpen = receive(deliveries) { frame throws(ProtocolError) in try handlers.result(frame, self) }
        }
        return isOpen
    }

    // MARK: Question thread

    private func handleQuestions() {
        var lines = LineReader(process.errors)
        var isOpen = true
        var end: ProcessExit?
        while end == nil {
            let pace = watch.pace(isBusy: isBusy)
            let (events, _) = questions.socket.interest()
            var polled = [
                pollfd(fd: isOpen ? questions.socket.descriptor : -1, events: events, revents: 0),
                pollfd(fd: questions.socket.wakeup, events: Int16(POLLIN), revents: 0),
                pollfd(fd: process.control.handle, events: Int16(POLLIN), revents: 0),
                pollfd(fd: lines.isOpen ? process.errors : -1, events: Int16(POLLIN), revents: 0),
            ]
            _ = poll(&polled, 4, Int32(clamping: max(1, pace.milliseconds)))
            if polled[1].revents != 0 { questions.socket.clearWakeup() }
            questions.socket.flushIfDue(now: now(), isWritable: polled[0].revents & Int16(POLLOUT) != 0)
            if polled[0].revents & ~Int16(POLLOUT) != 0 { isOpen = receive(questions.socket, handleQuestion) }
            if polled[3].revents != 0 { lines.read(now: now(), handlers.line) }
            if polled[2].revents != 0 { end = process.control.reap() }
            watch.look(isBusy: isBusy)
        }
        finish(end ?? ProcessExit(signal: 0, status: 0), &lines)
    }

    private func handleQuestion(_ frame: Frame) throws(ProtocolError) {
        switch frame.kind {
        case .hello:
            _ = try HelloMessage(reading: frame)
            greeting.give(true)
        case .pong: watch.receive(try PongMessage(reading: frame))
        case .present: try handlers.question(frame, self)
        default: try questions.open.answer(frame)
        }
    }

    private var isBusy: Bool { !questions.open.isEmpty || handlers.isBusy() || streams.isBusy }

    /// The process is gone, but the frames that it sent still count.
    private func finish(_ end: ProcessExit, _ lines: inout LineReader) {
        receiveResults()
        _ = receive(questions.socket, handleQuestion)
        deliveries.shut()
        questions.socket.shut()
        deliveriesEnded.wait()
        lines.read(now: now(), handlers.line)
        var end = end
        end.reason = watch.reaped()
        end.crash = crashReport()
        for descriptor in process.others { Glibc.close(descriptor) }
        greeting.give(false)
        ending.give(end)
        streams.end()
        handlers.ended(end, self)
        // A process that the router aborted was late, or used too much of a resource: that may not repeat.
        let crash = end.reason == nil ? end.crash : nil
        questions.open.close(crashed: crash.flatMap { $0.call == .validate || $0.call == .check ? $0.id : nil })
    }

    private func crashReport() -> CrashReport? {
        var bytes = [UInt8](repeating: 0, count: 16 * MemoryLayout<carillon_crash_report>.size)
        let count = read(process.crashes, &bytes, bytes.count)
        return count > 0 ? CrashReport(reading: Array(bytes.prefix(count))) : nil
    }
}

/// Splits a process's standard error into lines, limited in number and length.
struct LineReader {
    private static let lengthLimit = 1024

    private let descriptor: Int32
    private var rest: [UInt8] = []
    private var allowance = LogRateLimit()
    private(set) var isOpen = true

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    /// Reads the available input, and passes on its first lines.
    mutating func read(now: Deadline, _ handle: (String) -> Void) {
        var room = [UInt8](repeating: 0, count: 16 << 10)
        let count = Glibc.read(descriptor, &room, room.count)
        if count == 0 || count < 0 && errno != EAGAIN && errno != EINTR { isOpen = false }
        rest += room.prefix(max(0, count))
        var parts = rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        rest = isOpen ? Array((parts.popLast() ?? []).prefix(Self.lengthLimit)) : []
        for line in parts where !line.isEmpty && allowance.take(at: now) {
            handle(PluginText.printable(String(decoding: line, as: UTF8.self), limit: Self.lengthLimit))
        }
    }
}

/// A limit for the log lines of a process's plugins: 100/s.
struct LogRateLimit: Sendable {
    private static var perSecond: Int { 100 }

    private var second = Deadline.distantPast
    private var taken = 0

    /// Whether one more may pass at `now`.
    mutating func take(at now: Deadline) -> Bool {
        if now - second >= .seconds(1) { (second, taken) = (now, 0) }
        taken += 1
        return taken <= Self.perSecond
    }
}
