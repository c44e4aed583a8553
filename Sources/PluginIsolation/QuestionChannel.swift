import PluginProtocol
import Units

/// The socket over which a process is asked, and the questions that it has not answered.
final class QuestionChannel: Sendable {
    private static let backlog = ByteCount.mebibytes(8)

    let socket: FrameSocket
    private let open = OpenQuestions()

    /// Takes over `descriptor`.
    init(_ descriptor: Int32) {
        socket = FrameSocket(descriptor, taking: FrameKind.answers, lingers: false, limit: Self.backlog)
    }

    /// Whether the process has a question that it has not answered.
    var isAnyOpen: Bool { !open.isEmpty }

    /// Sends a frame that is no question.
    func send(_ frame: [UInt8]) { _ = socket.send(frame) }

    /// Asks a question and waits for its answer.
    func ask(_ kind: FrameKind, within span: Duration, _ body: (inout FrameWriter) -> Void) -> Answer {
        let handover = Handover<Answer>()
        guard let number = ask(kind, body, then: { handover.give($0) }) else { return .unaskable }
        if let answer = handover.take(within: span) { return answer }
        _ = open.withdraw(number, wasSent: true)
        return .late
    }

    /// Asks questions together, which are whole frames with any ids, and waits up to `span` for each answer. Nil: they
    /// could not be asked.
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
            // It has ended meanwhile, or too many are open.
            for number in numbers { _ = open.withdraw(number, wasSent: false) }
            return nil
        }
        let answers = questions.isEmpty ? [] : row.take(within: span)
        for (number, answer) in zip(numbers, answers) where answer == nil {
            _ = open.withdraw(number, wasSent: true)
        }
        return answers.map { $0 ?? .late }
    }

    /// Asks a question, and calls `completion` once, perhaps before this returns, unless this is nil.
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

    /// Handles an answer.
    func answer(_ frame: Frame) throws(ProtocolError) { try open.answer(frame) }

    /// Answers all questions: the process has ended. `crashed` is the one that it says it crashed in.
    func close(crashed: UInt64?) { open.close(crashed: crashed) }
}
