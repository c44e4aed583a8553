import Core
import PluginProtocol
import Synchronization

/// The socket for questions to a process, and the unanswered questions.
final class QuestionChannel: Sendable {
    private static let backlog = ByteCount.mebibytes(8)

    let socket: FrameSocket
    let open = OpenQuestions()

    /// Takes over `descriptor`.
    init(_ descriptor: Int32) {
        socket = FrameSocket(descriptor, taking: FrameKind.answers, lingers: false, limit: Self.backlog)
    }

    /// Sends a frame that needs no answer.
    func send(_ frame: [UInt8]) { _ = socket.send(frame) }

    /// Asks a question and waits for its answer.
    func ask(_ kind: FrameKind, within span: Duration, _ body: (inout FrameWriter) -> Void) -> Answer {
        let handover = Handover<Answer>()
        guard let number = ask(kind, body, then: { handover.give($0) }) else { return .unaskable }
        if let answer = handover.take(within: span) { return answer }
        _ = open.withdraw(number, wasSent: true)
        return .late
    }

    /// Asks questions together, given as complete frames with any IDs, and waits up to `span` for each answer. Nil:
    /// they could not be asked.
    func ask(_ questions: [[UInt8]], within span: Duration) -> [Answer]? {
        let row = AnswerRow(questions.count)
        var (numbers, frames) = ([UInt64](), [UInt8]())
        frames.reserveCapacity(questions.reduce(0) { $0 + $1.count })
        for (index, var question) in questions.enumerated() {
            guard let number = open.open({ row.give($0, to: index) }) else { break }
            numbers.append(number)
            Frame.set(number, of: &question)
            frames += question
        }
        var isAsked = numbers.count == questions.count
        if isAsked, case .sent = socket.send(frames) {} else { isAsked = false }
        guard isAsked else {
            // The process has ended, or too many are open.
            for number in numbers { _ = open.withdraw(number, wasSent: false) }
            return nil
        }
        let answers = questions.isEmpty ? [] : row.take(within: span)
        for (number, answer) in zip(numbers, answers) where answer == nil {
            _ = open.withdraw(number, wasSent: true)
        }
        return answers.map { $0 ?? .late }
    }

    /// Asks a question. Unless this is nil, `completion` is called once, possibly before this returns.
    func ask(
        _ kind: FrameKind,
        _ body: (inout FrameWriter) -> Void,
        then completion: @escaping OpenQuestions.Completion
    ) -> UInt64? {
        guard let number = open.open(completion) else { return nil }
        var writer = FrameWriter()
        guard writer.frame(kind, id: number, body), case .sent = socket.send(writer.take()) else {
            return open.withdraw(number, wasSent: false) ? nil : number
        }
        return number
    }

}

/// A frame with its own memory.
struct OwnedFrame: Sendable {
    let kind: FrameKind
    private let id: UInt64
    private let body: [UInt8]

    init(_ frame: Frame) {
        kind = frame.kind
        id = frame.id
        body = Array(frame.body)
    }

    /// Passes the frame to `read`, valid only during the call.
    func read<Result>(_ read: (Frame) throws(ProtocolError) -> Result) throws(ProtocolError) -> Result {
        try body.withUnsafeBytes { bytes in
            Swift.Result { () throws(ProtocolError) in try read(Frame(kind: kind, id: id, body: bytes)) }
        }.get()
    }
}

/// The result of a question.
enum Answer: Sendable {
    case frame(OwnedFrame)
    /// The process ended.
    case ended
    /// The process crashed in this question.
    case crashed
    /// No answer came in time.
    case late
    /// It could not be asked: it is too long, or too many are open.
    case unaskable
}

/// The unanswered questions of a process.
final class OpenQuestions: Sendable {
    typealias Completion = @Sendable (Answer) -> Void

    private struct State {
        var last: UInt64 = 0
        var open: [UInt64: Completion] = [:]
        /// Expired questions without a waiting caller. The process is still busy with them.
        var late: Set<UInt64> = []
        var isClosed = false
    }

    private static let limit = 4096
    private let state = Mutex(State())

    init() {}

    /// Whether the process has answered everything, in time or not.
    var isEmpty: Bool { state.withLock { $0.open.isEmpty && $0.late.isEmpty } }

    /// The number of a new question; nil if the process has ended or too many are open.
    func open(_ completion: @escaping Completion) -> UInt64? {
        state.withLock { state in
            guard !state.isClosed, state.open.count + state.late.count < Self.limit else { return nil }
            state.last += 1
            state.open[state.last] = completion
            return state.last
        }
    }

    /// Handles the answer to a question. A late one is ignored.
    func answer(_ frame: Frame) throws(ProtocolError) {
        let (completion, wasAsked) = state.withLock { state in
            state.late.remove(frame.id)
            return (state.open.removeValue(forKey: frame.id), (1...max(1, state.last)).contains(frame.id))
        }
        guard wasAsked else { throw .unexpected(frame.kind) }
        completion?(.frame(OwnedFrame(frame)))
    }

    /// Stops waiting for the answer to a question, whether or not it `wasSent`. False: the answer has arrived, or is
    /// about to.
    func withdraw(_ number: UInt64, wasSent: Bool) -> Bool {
        state.withLock { state in
            guard state.open.removeValue(forKey: number) != nil else { return false }
            if wasSent { state.late.insert(number) }
            return true
        }
    }

    /// Ends all questions after the process has ended. `crashed` is the one in its crash report.
    func close(crashed: UInt64? = nil) {
        let open = state.withLock { state in
            state.isClosed = true
            defer { state.open = [:] }
            return state.open
        }
        for (number, completion) in open.sorted(by: { $0.key < $1.key }) {
            completion(number == crashed ? .crashed : .ended)
        }
    }
}

/// Passes a value from one thread to waiting threads.
final class Handover<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)
    private let semaphore = MonotonicSemaphore()

    /// Sets the value; the first call counts.
    func give(_ given: Value) {
        let isFirst = value.withLock { value in
            guard value == nil else { return false }
            value = given
            return true
        }
        if isFirst { semaphore.signal() }
    }

    /// Whether the value is set.
    var isGiven: Bool { value.withLock { $0 != nil } }

    /// Waits for the value; nil after a timeout. Several threads may take it.
    func take(within span: Duration) -> Value? {
        if semaphore.wait(until: .now() + span) { semaphore.signal() }
        return value.withLock(\.self)
    }
}

/// The answers to questions that were asked together, for the thread that waits for them.
final class AnswerRow: Sendable {
    private struct State {
        var answers: [Answer?]
        var count = 0
    }

    private let state: Mutex<State>
    private let semaphore = MonotonicSemaphore()

    /// Space for `count` answers.
    init(_ count: Int) { state = Mutex(State(answers: Array(repeating: nil, count: count))) }

    /// Sets an answer; the first one to a question counts.
    func give(_ answer: Answer, to index: Int) {
        let isLast = state.withLock { state in
            if state.answers[index] != nil { return false }
            state.answers[index] = answer
            state.count += 1
            return state.count == state.answers.count
        }
        if isLast { semaphore.signal() }
    }

    /// Waits until all answers have come, or none has come for `span`. Nil: no answer.
    func take(within span: Duration) -> [Answer?] {
        var seen = 0
        while !semaphore.wait(until: .now() + span) {
            let count = state.withLock(\.count)
            guard count > seen else { break }
            seen = count
        }
        return state.withLock(\.answers)
    }
}
