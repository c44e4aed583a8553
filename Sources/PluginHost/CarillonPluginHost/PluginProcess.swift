import CarillonABI
import Core
import PluginProtocol
import Synchronization

/// The shared state of the process's threads: sockets, instances, open work.
///
/// It has three threads. The main one reads deliveries and calls the plugins for them. Another one reads questions, and
/// never calls a plugin, so that it can always report the others' calls. The third answers the questions.
final class PluginProcess: Sendable {
    private static let workerStack = 1 << 20
    private static let readerStack = 256 << 10

    let deliveries: SendingSocket
    let questions: SendingSocket
    let openWork = Mutex(OpenWork())
    let confinement = Confinement()
    let deliveryActivity = Activity()
    let questionActivity = Activity()
    let hostQuestions = HostQuestions()
    let timers = Timers()
    let streams = ChildStreams()
    private let instances = Mutex<[UInt32: PluginInstance]>([:])
    private let lines = Mutex(MessageLimit())
    private let mistakes = Mutex(MessageLimit())
    private let descriptors: (deliveries: Int32, questions: Int32)

    init(deliveries: Int32, questions: Int32) {
        descriptors = (deliveries, questions)
        self.deliveries = SendingSocket(deliveries, isSentAtEnd: true)
        self.questions = SendingSocket(questions, isSentAtEnd: false)
    }

    /// Serves until the router closes a socket. The calling thread, so far the only one, takes the deliveries.
    func run() -> Never {
        let worker = QuestionWorker(self)
        let reader = QuestionReader(self, worker)
        let isReady = Monitor(false)
        deliveryActivity.adopt()
        Thread.start(stack: Self.workerStack) {
            self.questionActivity.adopt()
            isReady.change { $0 = true }
            worker.run()
        }
        isReady.wait { $0 ? () : nil }
        questions.send(.hello, id: 0) { writer in
            HelloMessage(
                deliveries: self.deliveryActivity.report.thread,
                questions: self.questionActivity.report.thread
            ).write(to: &writer)
        }
        let descriptors = descriptors
        Thread.start(stack: Self.readerStack) { reader.run(descriptors.questions) }
        DeliveryReader(self).run(descriptors.deliveries)
    }

    // MARK: Instances

    /// The instance of that number; nil: there is none, or it has ended.
    func instance(_ number: UInt32) -> PluginInstance? { instances.withLock { $0[number] } }

    func add(_ instance: PluginInstance) { instances.withLock { $0[instance.number] = instance } }

    func remove(_ number: UInt32) -> PluginInstance? { instances.withLock { $0.removeValue(forKey: number) } }

    // MARK: Functions of the host

    /// `carillon_host.log`.
    func log(_ instance: PluginInstance, _ level: carillon_log_level, _ message: carillon_str) {
        let (isTaken, lost) = lines.withLock { limit in
            let isTaken = limit.take(now: .now())
            return (isTaken, isTaken ? limit.takeLost() : 0)
        }
        guard isTaken else { return }
        if lost > 0 { say("\(lost) lines of the plugin were dropped: it logs too many", of: instance) }
        deliveries.send(.log, id: 0) { LogMessage.write(instance: instance.number, level, message, to: &$0) }
    }

    private func say(_ line: String, of instance: PluginInstance) {
        var line = line
        line.withUTF8 { text in
            let text = carillon_str(ptr: UnsafeRawPointer(text.baseAddress), len: text.count)
            deliveries.send(.log, id: 0) {
                LogMessage.write(instance: instance.number, .CARILLON_WARNING, text, to: &$0)
            }
        }
    }

    /// `carillon_host.complete`. Unknown tickets are sent to the router too, because it counts them.
    func complete(_ instance: PluginInstance, _ ticket: UInt64, _ pointer: UnsafePointer<carillon_outcome>?) {
        let outcome = pointer.flatMap { carillon_outcome(adopting: $0) }
        let isKnown = openWork.withLock { $0.end(ticket, of: instance.number) }
        guard isKnown || mistakes.withLock({ $0.take(now: .now()) }) else { return }
        deliveries.send(.completed, id: ticket) { writer in
            if let outcome {
                OutcomeMessage.write(instance: instance.number, outcome, to: &writer)
            } else {
                OutcomeMessage.writeMalformed(instance: instance.number, to: &writer)
            }
        }
    }

    /// `carillon_host.http_request`.
    func request(
        _ instance: PluginInstance,
        _ pointer: UnsafePointer<carillon_http_request>?,
        _ done: carillon_http_done?,
        _ context: UnsafeMutableRawPointer?
    ) -> carillon_status {
        do throws(FormError) {
            guard let done else { throw FormError("done is NULL") }
            let request = try RequestForm.checked(pointer)
            guard !instance.isClosed else { return .CARILLON_BUSY }
            let ticket = Activity.ticket
            let open = OpenWork.Request(instance: instance, ticket: ticket, done: done, context: context)
            guard let number = openWork.withLock({ $0.open(open) }) else { return .CARILLON_BUSY }
            deliveries.send(.request, id: number) {
                RequestMessage.write(instance: instance.number, ticket: ticket, request, to: &$0)
            }
            return .CARILLON_OK
        } catch {
            note(.request, of: instance, error.text)
            return error.status
        }
    }

    /// `present` of the service `carillon.client-certificate/1`.
    func present(
        _ instance: PluginInstance,
        _ connection: carillon_str,
        _ certificates: carillon_str,
        _ key: carillon_str,
        _ room: UnsafeMutablePointer<carillon_error>?
    ) -> carillon_status {
        let flaw: String? =
            if !RequestForm.isWord(connection) {
                "connection: expected a word of 1 to 128 printable bytes"
            } else if RequestForm.bytes(certificates, limit: 256 << 10) == nil {
                "certificates: expected at most 256 KiB of PEM"
            } else if RequestForm.bytes(key, limit: 64 << 10) == nil {
                "key: expected at most 64 KiB of PEM"
            } else {
                nil
            }
        if let flaw {
            ErrorRoom.write(Array(flaw.utf8), to: room)
            return .CARILLON_INVALID
        }
        // The response may depend on frames that this thread has buffered.
        deliveries.flush()
        let answer = hostQuestions.ask { number in
            questions.send(.present, id: number) { writer in
                PresentMessage.write(
                    instance: instance.number,
                    connection: connection,
                    certificates: certificates,
                    key: key,
                    to: &writer
                )
            }
        }
        if answer.status != .CARILLON_OK { ErrorRoom.write(answer.text, to: room) }
        return answer.status
    }

    /// Reports a broken rule to the router; the plugin already got its error.
    func note(_ rule: ViolationMessage.Rule, of instance: PluginInstance?, _ text: String) {
        guard let instance, mistakes.withLock({ $0.take(now: .now()) }) else { return }
        deliveries.send(.mistake, id: 0) {
            ViolationMessage(instance: instance.number, rule, text: text).write(to: &$0)
        }
    }
}

/// Questions to the router that a thread waits for.
final class HostQuestions: Sendable {
    struct Answer: Sendable {
        let status: carillon_status
        let text: [UInt8]
    }

    private struct State {
        var last: UInt64 = 0
        var answers: [UInt64: Answer?] = [:]
    }

    private let state = Monitor(State())

    /// Asks, and waits for the answer. Not for the thread that reads it.
    func ask(_ send: (UInt64) -> Bool) -> Answer {
        let number = state.change { state in
            state.last += 1
            state.answers[state.last] = .some(nil)
            return state.last
        }
        guard send(number) else { return Answer(status: .CARILLON_INVALID, text: []) }
        return state.wait { state in
            guard let answer = state.answers[number] ?? nil else { return nil }
            state.answers[number] = nil
            return answer
        }
    }

    /// False: no thread waits for it.
    func answer(_ number: UInt64, _ answer: Answer) -> Bool {
        state.change { state in
            guard case .some(nil) = state.answers[number] else { return false }
            state.answers[number] = answer
            return true
        }
    }
}

/// Open work: deliveries that the plugins have not ended, and requests that the router has not answered. Pure.
struct OpenWork: Sendable {
    /// A request and its completion.
    ///
    /// Unchecked: the pointer belongs to the plugin and is never dereferenced here.
    struct Request: @unchecked Sendable {
        let instance: PluginInstance
        let ticket: UInt64
        let done: carillon_http_done
        let context: UnsafeMutableRawPointer?
    }

    private static let requestHeadroom = 64
    private static let requestsOfTicket = 4

    /// The instance of each open delivery.
    private var tickets: [UInt64: UInt32] = [:]
    private var requests: [UInt64: Request] = [:]
    private var lastRequest: UInt64 = 0

    mutating func begin(_ ticket: UInt64, of instance: UInt32) { tickets[ticket] = instance }

    /// False: the instance has no such open delivery.
    mutating func end(_ ticket: UInt64, of instance: UInt32) -> Bool {
        guard tickets[ticket] == instance else { return false }
        tickets[ticket] = nil
        return true
    }

    func isOpen(_ ticket: UInt64) -> Bool { tickets[ticket] != nil }

    /// The number of a new request; nil: too many are open for the number of deliveries.
    mutating func open(_ request: Request) -> UInt64? {
        guard requests.count < Self.requestHeadroom + Self.requestsOfTicket * tickets.count else { return nil }
        lastRequest += 1
        requests[lastRequest] = request
        return lastRequest
    }

    mutating func close(_ number: UInt64) -> Request? { requests.removeValue(forKey: number) }
}

/// A rate limit for messages, which counts the dropped ones: repetitive plugins must not keep the router busy. Pure.
struct MessageLimit: Sendable {
    private static let perSecond = 100

    private var second: Int64 = .min
    private var count = 0
    private(set) var lost = 0

    /// Whether one more may be sent.
    mutating func take(now: Deadline) -> Bool {
        let current = now.milliseconds / 1000
        if current != second {
            second = current
            count = 0
        }
        count += 1
        if count > Self.perSecond { lost += 1 }
        return count <= Self.perSecond
    }

    /// The number of messages dropped since the last call.
    mutating func takeLost() -> Int {
        defer { lost = 0 }
        return lost
    }
}
