import CarillonABI
import PluginProtocol

/// A plugin's answer to a call: a status, and an error message if it is not OK.
package struct PluginReply: Sendable {
    package let status: carillon_status
    package let text: String

    init(_ status: carillon_status, _ text: String) {
        self.status = status
        self.text = text
    }
}

/// A library in a plugin process.
///
/// The process ends when the last of its plugins is released.
package final class IsolatedPlugin: Sendable {
    /// Ends a process when its last plugin is released.
    private final class Lease: Sendable {
        let supervisor: ChildSupervisor

        init(_ supervisor: ChildSupervisor) { self.supervisor = supervisor }

        deinit { supervisor.stop() }
    }

    /// The library's own descriptor, not yet checked by the router.
    package let descriptor: DescriptorMessage
    private let lease: Lease
    private let library: UInt32

    private init(_ descriptor: DescriptorMessage, _ lease: Lease, library: UInt32) {
        self.descriptor = descriptor
        self.lease = lease
        self.library = library
    }

    /// The supervisor of its process, and the library's number there. Both change when the libraries of a process are
    /// separated.
    private var place: (supervisor: ChildSupervisor, library: UInt32) { lease.supervisor.supervisor(of: library) }

    /// Loads libraries into the one process of `supervisor`.
    package static func load(
        _ libraries: [IsolatedLibrary],
        into supervisor: ChildSupervisor
    ) -> [Result<IsolatedPlugin, LoadError>] {
        let lease = Lease(supervisor)
        // The process counts the libraries that it has loaded.
        var loaded: UInt32 = 0
        return supervisor.load(libraries).map { result in
            result.map { descriptor in
                defer { loaded += 1 }
                return IsolatedPlugin(descriptor, lease, library: loaded)
            }
        }
    }

    /// Creates an instance of the transport or filter at `index` of the descriptor. Nil: the plugin refuses the
    /// configuration, or its process does not run.
    package func create(
        _ table: CreateMessage.Table,
        at index: Int,
        configuration: String,
        for host: any InstanceHost
    ) -> (reply: PluginReply, instance: IsolatedInstance?) {
        let (supervisor, library) = place
        let message = CreateMessage(
            instance: 0,
            library: library,
            table: table,
            index: UInt32(clamping: index),
            configuration: configuration
        )
        let order = supervisor.table.add(host, message)
        let (status, needs, said) = supervisor.create(order)
        guard status == .CARILLON_OK else {
            supervisor.destroy(order.number)
            // Its process died, perhaps because of another library: it has its own now.
            if place.supervisor !== supervisor {
                return create(table, at: index, configuration: configuration, for: host)
            }
            return (PluginReply(status, said), nil)
        }
        let instance = IsolatedInstance(order.number, needs: needs, of: self, library: self.library)
        return (PluginReply(.CARILLON_OK, ""), instance)
    }

    /// Checks a rule's block for the transport at `index` of the descriptor.
    package func check(transport index: Int, _ block: String) -> PluginReply {
        group.ask(.check, of: library) { library, body in
            CheckMessage.write(library: library, index: UInt32(clamping: index), block, to: &body)
        }
    }

    /// The supervisor that loaded the library.
    fileprivate var group: ChildSupervisor { lease.supervisor }
}

/// An instance in a plugin's process, which does not end before this is released.
package final class IsolatedInstance: Sendable {
    private let number: UInt32
    /// The needs of a filter's instance, as bits of its flags.
    package let needs: UInt32
    private let plugin: IsolatedPlugin
    private let library: UInt32

    fileprivate init(_ number: UInt32, needs: UInt32, of plugin: IsolatedPlugin, library: UInt32) {
        self.number = number
        self.needs = needs
        self.plugin = plugin
        self.library = library
    }

    /// The supervisor of its process.
    var supervisor: ChildSupervisor { plugin.group.supervisor(of: library).supervisor }

    /// Sends to the process, or to the one that the library got in the meantime.
    private func hand(_ body: (ChildSupervisor) -> carillon_status) -> carillon_status {
        let supervisor = supervisor
        let status = body(supervisor)
        guard status == .CARILLON_FAILED else { return status }
        let current = self.supervisor
        return current === supervisor ? status : body(current)
    }

    /// Sends deliveries, whose registrations and notifications `body` writes. OK: all are accepted. UNSUPPORTED: one of
    /// several exceeds its limit; INVALID: a single one does.
    package func deliver(_ tickets: [UInt64], _ body: (Int, inout FrameWriter) -> Void) -> carillon_status {
        hand { $0.table.deliver(number, tickets, body) }
    }

    /// Passes on an inbound request, which `body` writes. `done` is called once, if the status is OK.
    package func receive(
        _ body: (inout FrameWriter) -> Void,
        done: @escaping @Sendable (PluginInboundReply) -> Void
    ) -> carillon_status {
        supervisor.table.hand(number, body, done)
    }

    package func cancel(_ ticket: UInt64) { supervisor.table.cancel(number, ticket) }

    /// Asks the plugin about a registration, which `body` writes.
    package func validate(_ body: (inout FrameWriter) -> Void) -> PluginReply {
        plugin.group.ask(.validate, of: library) { _, writer in
            writer.number(number)
            body(&writer)
        }
    }

    /// Runs an operator's command, whose arguments `body` writes. `done` is called once, unless the status is not OK.
    package func command(
        _ body: (inout FrameWriter) -> Void,
        done: @escaping @Sendable (CommandReply) -> Void
    ) -> carillon_status {
        guard let session = supervisor.session else { return .CARILLON_BUSY }
        let question = session.ask(.command) { writer in
            writer.number(number)
            body(&writer)
        } then: { answer in
            Self.receive(answer, from: session, done)
        }
        return question == nil ? .CARILLON_BUSY : .CARILLON_OK
    }

    private static func receive(
        _ answer: Answer,
        from session: ChildSession,
        _ done: (CommandReply) -> Void
    ) {
        guard case .frame(let frame) = answer else { return done(.failed("the plugin's process has ended")) }
        do throws(ProtocolError) {
            try frame.read { frame throws(ProtocolError) in
                guard frame.kind == .answered else { throw .unexpected(frame.kind) }
                let answer = try AnswerMessage(reading: frame)
                // The number 1 means that the plugin accepted the command.
                done(answer.number == 1 ? .answered(answer.status, answer.text) : .refused(answer.status))
            }
        } catch {
            session.kill(reason: "was ended, because \(error)")
            done(.failed("the plugin's process sent an invalid answer"))
        }
    }

    /// An empty batch of questions to a filter.
    package func decisions() -> DecisionBatch { DecisionBatch(number, self) }

    /// Ends the instance, which must not be used afterwards.
    package func destroy() {
        let supervisor = supervisor
        supervisor.destroy(number)
        // It may have moved to another process.
        let current = self.supervisor
        if current !== supervisor, current.table.host(of: number) != nil { current.destroy(number) }
    }
}

/// The result of an operator's command.
package enum CommandReply {
    /// The plugin accepted it; the text points into a frame.
    case answered(carillon_status, carillon_str)
    /// The plugin did not accept it.
    case refused(carillon_status)
    /// The process does not run.
    case failed(String)
}

extension ChildSupervisor {
    /// Asks the loaded library with the number `library` a question with a status and a message as the answer; waits
    /// for a starting process. If a process dies of another cause, asks once more. Without an answer the status is
    /// FAILED; it is INVALID if the process crashed in this question.
    fileprivate func ask(
        _ kind: FrameKind,
        of library: UInt32,
        _ body: (UInt32, inout FrameWriter) -> Void
    ) -> PluginReply {
        var text = "the plugin's process does not run"
        for _ in 0..<2 {
            let (supervisor, number) = supervisor(of: library)
            let span = supervisor.settings.questionDeadline
            guard let session = supervisor.readySession(within: span) else {
                if self.supervisor(of: library).supervisor === supervisor { break }
                continue
            }
            switch session.ask(kind, within: span, { body(number, &$0) }) {
            case .frame(let frame): return session.read(frame)
            case .crashed: return PluginReply(.CARILLON_INVALID, "the plugin's process \(session.endText)")
            case .ended:
                text = "the plugin's process \(session.endText)"
                continue
            case .unaskable: text = "the plugin's process accepts no questions"
            case .late: text = "the plugin did not answer in time"
            }
            break
        }
        return PluginReply(.CARILLON_FAILED, text)
    }
}

extension ChildSession {
    private static let textLimit = 512

    /// The process's end; completes a sentence.
    fileprivate var endText: String { end(within: .zero)?.text(modules) ?? "ended" }

    /// Reads an answer of a status and a message.
    fileprivate func read(_ frame: OwnedFrame) -> PluginReply {
        do throws(ProtocolError) {
            return try frame.read { frame throws(ProtocolError) in
                guard frame.kind == .answered else { throw .unexpected(frame.kind) }
                let answer = try AnswerMessage(reading: frame)
                let text = UnsafeRawBufferPointer(start: answer.text.ptr, count: answer.text.len)
                return PluginReply(answer.status, String(decoding: text.prefix(Self.textLimit), as: UTF8.self))
            }
        } catch {
            kill(reason: "was ended, because \(error)")
            return PluginReply(.CARILLON_FAILED, "")
        }
    }
}

/// A batch of questions to a filter in a process: all take one round trip.
///
/// The process answers them one after the other. If it dies or hangs, the first unanswered question is the suspect and
/// cannot be decided. Those after it are asked again one by one, up to a second death.
package struct DecisionBatch {
    /// The answer to a question.
    package struct Decision: Sendable {
        fileprivate let session: ChildSession?
        fileprivate let answer: Answer

        /// Passes the filter's answer to `body`, valid only during the call. Nil: it could not decide.
        package func read<Result>(_ body: (DecidedMessage) -> Result) -> Result? {
            guard case .frame(let frame) = answer else { return nil }
            do throws(ProtocolError) {
                return try frame.read { frame throws(ProtocolError) in
                    guard frame.kind == .decided else { throw .unexpected(frame.kind) }
                    return body(try DecidedMessage(reading: frame))
                }
            } catch {
                session?.kill(reason: "was ended, because \(error)")
                return nil
            }
        }
    }

    private static let most = 64
    private static let maxBytes = 1 << 20

    private let number: UInt32
    private let instance: IsolatedInstance
    /// The frame of each question; nil: it exceeds its limit.
    private var frames: [[UInt8]?] = []
    private var bytes = 0

    init(_ number: UInt32, _ instance: IsolatedInstance) {
        self.number = number
        self.instance = instance
    }

    /// Whether more questions need another batch.
    package var isFull: Bool { frames.count >= Self.most || bytes >= Self.maxBytes }

    /// Adds a question, which `body` writes; it usually takes `expected` bytes.
    package mutating func add(usually expected: Int = 1024, _ body: (inout FrameWriter) -> Void) {
        var writer = FrameWriter(reserving: expected)
        let fits = writer.frame(.decide, id: 0) { writer in
            writer.number(number)
            body(&writer)
        }
        frames.append(fits ? writer.take() : nil)
        bytes += frames.last??.count ?? 0
    }

    /// Asks the questions, and waits for one answer to each, in order. Without a process there are no decisions, and
    /// the pipeline waits.
    package func ask() -> [Decision] {
        var decisions = frames.map { _ in Decision(session: nil, answer: .unaskable) }
        let asked = frames.indices.filter { frames[$0] != nil }
        guard let session = instance.supervisor.session else { return decisions }
        let span = instance.supervisor.settings.questionDeadline
        let answers = session.ask(asked.compactMap { frames[$0] }, within: span)
        for (index, answer) in zip(asked, answers) { decisions[index] = Decision(session: session, answer: answer) }
        guard let suspect = answers.firstIndex(where: { !$0.isFrame }) else { return decisions }
        switch answers[suspect] {
        case .ended, .crashed: break
        // The watch ends a process that hangs.
        case .late: _ = session.end(within: span)
        case .frame, .unaskable: return decisions
        }
        for index in asked[asked.index(after: suspect)...] {
            guard let frame = frames[index], let session = instance.supervisor.readySession(within: span) else { break }
            let answer = session.ask([frame], within: span).first ?? .unaskable
            decisions[index] = Decision(session: session, answer: answer)
            guard answer.isFrame else { break }
        }
        return decisions
    }
}

extension Answer {
    fileprivate var isFrame: Bool { if case .frame = self { true } else { false } }
}
