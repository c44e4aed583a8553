import CarillonABI
import PluginProtocol

/// Reads questions. It calls no plugin, so that a ping is answered whatever plugins do.
struct QuestionReader {
    private static let room = 64 << 10

    private let process: PluginProcess
    private let worker: QuestionWorker

    init(_ process: PluginProcess, _ worker: QuestionWorker) {
        self.process = process
        self.worker = worker
    }

    func run(_ descriptor: Int32) -> Never {
        var socket = ReceivingSocket(descriptor, taking: FrameKind.questions, room: Self.room)
        var isFirst = true
        while true {
            socket.receive { frame throws(ProtocolError) in
                switch frame.kind {
                case .ping: try answerPing(frame)
                case .reply: try pass(frame)
                case .load where isFirst:
                    isFirst = false
                    process.confinement.begin(try LoadMessage(reading: frame))
                    process.confinement.enter()
                    worker.add(frame)
                default: worker.add(frame)
                }
            }
        }
    }

    private func answerPing(_ frame: Frame) throws(ProtocolError) {
        try PingMessage.read(frame)
        let pong = PongMessage(
            deliveries: process.deliveryActivity.report,
            questions: process.questionActivity.report
        )
        process.questions.send(.pong, id: frame.id) { pong.write(to: &$0) }
    }

    private func pass(_ frame: Frame) throws(ProtocolError) {
        let message = try AnswerMessage(reading: frame)
        let text = Array(UnsafeRawBufferPointer(start: message.text.ptr, count: message.text.len))
        let answer = HostQuestions.Answer(status: message.status, text: text)
        guard process.hostQuestions.answer(frame.id, answer) else { throw .unexpected(.reply) }
    }
}
