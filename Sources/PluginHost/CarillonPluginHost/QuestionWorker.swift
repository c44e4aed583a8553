import CarillonABI
import PluginProtocol
import Synchronization

/// Answers questions in order: the thread that loads libraries, creates and destroys instances, and calls them.
final class QuestionWorker: Sendable {
    private struct Question: Sendable {
        let kind: FrameKind
        let id: UInt64
        let body: [UInt8]
    }

    private let process: PluginProcess
    private let waiting = Monitor<[Question]>([])
    private let libraries = Mutex<[PluginLibrary]>([])

    init(_ process: PluginProcess) { self.process = process }

    /// Queues a question.
    func add(_ frame: Frame) {
        let question = Question(kind: frame.kind, id: frame.id, body: Array(frame.body))
        waiting.change { $0.append(question) }
    }

    func run() -> Never {
        process.confinement.enter()
        while true {
            let questions = waiting.wait { waiting in
                defer { waiting = [] }
                return waiting.isEmpty ? nil : waiting
            }
            for question in questions { handle(question) }
        }
    }

    private func handle(_ question: Question) {
        question.body.withUnsafeBytes { body in
            do throws(ProtocolError) {
                try handle(Frame(kind: question.kind, id: question.id, body: body))
            } catch {
                Process.fail("the router: \(error)")
            }
        }
    }

    private func handle(_ frame: Frame) throws(ProtocolError) {
        switch frame.kind {
        case .load: try load(frame)
        case .create: try create(frame)
        case .destroy: try destroy(frame)
        case .validate: try validate(frame)
        case .check: try check(frame)
        case .decide: try decide(frame)
        case .command: try command(frame)
        default: throw .unexpected(frame.kind)
        }
    }

    private func during<Result>(_ frame: Frame, _ call: () -> Result) -> Result {
        process.questionActivity.during(frame.kind, frame.id, call)
    }

    private func answer(_ id: UInt64, _ status: carillon_status, number: UInt32 = 0, _ text: [UInt8] = []) {
        text.withUnsafeBytes { text in
            let text = carillon_str(ptr: text.baseAddress, len: text.count)
            process.questions.send(.answered, id: id) { AnswerMessage.write(status, number: number, text, to: &$0) }
        }
    }

    // MARK: Libraries

    private func load(_ frame: Frame) throws(ProtocolError) {
        let message = try LoadMessage(reading: frame)
        var confinement = process.confinement.awaitAll()
        let result = during(frame) {
            Result { () throws(PluginLibrary.LibraryError) in try PluginLibrary(loading: message.path) }
        }
        if message.isLast { confinement = process.confinement.close(message) }
        switch result {
        case .success(let library):
            libraries.withLock { $0.append(library) }
            let descriptor = library.descriptor(confinement: confinement)
            process.questions.send(.loaded, id: frame.id) { descriptor.write(to: &$0) }
        case .failure(let refusal):
            let message = UnloadableMessage(
                refusal.reason,
                number: refusal.number,
                text: refusal.text,
                confinement: confinement
            )
            process.questions.send(.unloadable, id: frame.id) { message.write(to: &$0) }
        }
    }

    private func tables(_ number: UInt32) -> PluginTables? {
        libraries.withLock { $0.indices.contains(Int(number)) ? $0[Int(number)].tables : nil }
    }

    // MARK: Instances

    private func create(_ frame: Frame) throws(ProtocolError) {
        let message = try CreateMessage(reading: frame)
        guard let tables = tables(message.library), process.instance(message.instance) == nil,
            let table = Self.table(message, in: tables)
        else { throw .unknownValue }
        let instance = PluginInstance(
            message.instance,
            table,
            state: message.state,
            inboundURL: message.inboundURL,
            of: process
        )
        var configuration = message.configuration
        let (status, said) = configuration.withUTF8 { text in
            let text = carillon_str(ptr: UnsafeRawPointer(text.baseAddress), len: text.count)
            return during(frame) { instance.create(text) }
        }
        guard status == .CARILLON_OK else { return answer(frame.id, status, said) }
        process.add(instance)
        answer(frame.id, .CARILLON_OK, number: during(frame) { instance.needs })
    }

    private static func table(_ message: CreateMessage, in tables: PluginTables) -> PluginInstance.Table? {
        let index = Int(message.index)
        switch message.table {
        case .transport: return tables.transports.indices.contains(index) ? .transport(tables.transports[index]) : nil
        case .filter: return tables.filters.indices.contains(index) ? .filter(tables.filters[index]) : nil
        }
    }

    private func destroy(_ frame: Frame) throws(ProtocolError) {
        let message = try InstanceMessage(reading: frame)
        guard let instance = process.remove(message.instance) else { throw .unknownValue }
        during(frame) { instance.destroy() }
        answer(frame.id, .CARILLON_OK)
    }

    // MARK: Questions to plugins

    private func validate(_ frame: Frame) throws(ProtocolError) {
        let (status, said) = try ValidateMessage.read(frame) { number, registration in
            guard let instance = process.instance(number), case .transport(let table) = instance.table,
                let validate = table.validate
            else { return (carillon_status.CARILLON_FAILED, [UInt8]()) }
            return during(frame) { ErrorRoom.withRoom { validate(instance.pointer, registration, $0) } }
        }
        answer(frame.id, status, said)
    }

    private func check(_ frame: Frame) throws(ProtocolError) {
        let message = try CheckMessage(reading: frame)
        guard let tables = tables(message.library), tables.transports.indices.contains(Int(message.index)),
            let check = tables.transports[Int(message.index)].check
        else { return answer(frame.id, .CARILLON_FAILED) }
        let (status, said) = during(frame) { ErrorRoom.withRoom { check(message.block, $0) } }
        answer(frame.id, status, said)
    }

    private func decide(_ frame: Frame) throws(ProtocolError) {
        let message = try DecideMessage(reading: frame)
        var decision = carillon_verdict.CARILLON_PASS
        var status = carillon_status.CARILLON_FAILED
        var edits: [FilterEdits.Edit] = []
        if let instance = process.instance(message.instance), case .filter(let table) = instance.table,
            let decide = table.decide
        {
            (status, edits) = FilterEdits.collect(instance, message.renderedMode) { edit in
                message.withCStruct(edit: edit, set: filterSet) { call in
                    during(frame) { decide(instance.pointer, call, &decision) }
                }
            }
        }
        let isOK = status == .CARILLON_OK
        process.questions.send(.decided, id: frame.id) { writer in
            DecidedMessage.write(
                status,
                decision: decision.rawValue,
                edits: isOK ? edits.map { ($0.field, $0.value) } : [],
                to: &writer
            )
        }
    }

    private func command(_ frame: Frame) throws(ProtocolError) {
        let message = try CommandMessage(reading: frame)
        guard let instance = process.instance(message.instance), case .transport(let table) = instance.table,
            let command = table.command, let context = OpenCalls.commands.open(frame.id, of: instance)
        else { return answer(frame.id, .CARILLON_UNSUPPORTED) }
        let status = message.words.withUnsafeBufferPointer { words in
            during(frame) { command(instance.pointer, words.baseAddress, words.count, commandDone, context) }
        }
        if status != .CARILLON_OK, OpenCalls.commands.close(context) != nil { answer(frame.id, status) }
    }
}

/// `done` of a command. The answer's number 1 means that the plugin accepted the command.
private func commandDone(_ context: UnsafeMutableRawPointer?, _ status: carillon_status, _ answer: carillon_str) {
    guard let command = OpenCalls.commands.close(context) else { return }
    let limit = 1 << 20
    let text = carillon_str(ptr: answer.ptr, len: min(max(0, answer.len), limit))
    command.instance.process.questions.send(.answered, id: command.id) {
        AnswerMessage.write(status, number: 1, text, to: &$0)
    }
}

/// Reads questions. It calls no plugin, so a ping is always answered.
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
