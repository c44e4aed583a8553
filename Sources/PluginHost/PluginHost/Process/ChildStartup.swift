import CarillonABI
import Core
import PluginProtocol

/// Why a library was not loaded, or an instance not created.
package enum LoadError: Error, Sendable {
    /// No process could be started; the reason as the end of a sentence.
    case notStarted(String)
    case unloadable(UnloadableMessage)
    /// Its process died; the reason as the end of a sentence.
    case died(ProcessExit, String)

    /// The reason, for a process that had loaded its libraries before.
    var text: String {
        switch self {
        case .died(_, let text): text
        case .notStarted(let text): text
        case .unloadable(let message): "can no longer load its library: \(message.text)"
        }
    }
}

/// Starts processes and makes them load libraries. Blocks until they have.
struct ChildStartup: Sendable {
    /// How much longer than a call's limit its answer is waited for: by then the watch has ended the process.
    static let timeout: Duration = .seconds(3)

    let settings: IsolationSettings
    let launch: @Sendable () throws(StartError) -> StartedProcess
    let handlers: ChildSession.Handlers
    let now: @Sendable () -> Deadline

    /// A process that is ready to load libraries.
    func open() throws(LoadError) -> ChildSession {
        let process: StartedProcess
        do throws(StartError) {
            process = try launch()
        } catch {
            throw .notStarted("\(error)")
        }
        let session = ChildSession(
            process,
            watch: CallWatch(deadline: settings.deadline, questionDeadline: settings.questionDeadline),
            processors: settings.processors,
            memory: settings.memory,
            now: now,
            handlers: handlers
        )
        session.start()
        guard session.isGreeted(within: settings.deadline) else {
            throw died(session, "did not say hello within \(settings.deadline.seconds) s")
        }
        return session
    }

    /// Makes the process load a library. `all` are the paths of all libraries for this process.
    func load(
        _ library: IsolatedLibrary,
        of all: [String],
        isLast: Bool,
        in session: ChildSession
    ) throws(LoadError) -> DescriptorMessage {
        if let mistake = library.mistake() { throw .notStarted("\(library.path): \(mistake)") }
        let message = LoadMessage(
            path: library.path,
            libraries: all,
            memoryLimit: UInt64(clamping: settings.memory?.bytes ?? 0),
            isSandboxed: settings.isSandboxed,
            isLast: isLast
        )
        let answer = session.ask(.load, within: settings.deadline + Self.timeout) { message.write(to: &$0) }
        let loaded = try read(answer, of: "load", from: session) {
            (frame) throws(ProtocolError) -> Result<DescriptorMessage, LoadError> in
            switch frame.kind {
            case .loaded: .success(try DescriptorMessage(reading: frame))
            case .unloadable: .failure(.unloadable(try UnloadableMessage(reading: frame)))
            default: throw .unexpected(frame.kind)
            }
        }
        return try loaded.get()
    }

    /// Makes the process create an instance with the stored `state`. Returns the status, the instance's needs, and the
    /// error message.
    func create(
        _ order: InstanceOrder,
        _ state: [StateEntry],
        in session: ChildSession
    ) throws(LoadError) -> (status: carillon_status, needs: UInt32, said: String) {
        var message = order.message
        message.inboundURL = order.host.inboundURL ?? ""
        message.state = state
        let answer = session.ask(.create, within: settings.deadline + Self.timeout) { message.write(to: &$0) }
        return try read(answer, of: "create", from: session) { frame throws(ProtocolError) in
            guard frame.kind == .answered else { throw .unexpected(frame.kind) }
            let answer = try AnswerMessage(reading: frame)
            let said = UnsafeRawBufferPointer(start: answer.text.ptr, count: answer.text.len)
            return (answer.status, answer.number, String(decoding: said, as: UTF8.self))
        }
    }

    private func read<Value>(
        _ answer: Answer,
        of what: String,
        from session: ChildSession,
        _ body: (Frame) throws(ProtocolError) -> Value
    ) throws(LoadError) -> Value {
        switch answer {
        case .frame(let frame):
            do throws(ProtocolError) {
                return try frame.read(body)
            } catch {
                throw died(session, "was ended, because \(error)")
            }
        case .ended, .crashed: throw died(session, "ended")
        case .late: throw died(session, "did not answer \(what)")
        case .unaskable: throw session.hasEnded ? died(session, "ended") : .notStarted("it accepts no questions")
        }
    }

    /// The failure of a process that has ended, or that is killed now for `reason`.
    private func died(_ session: ChildSession, _ reason: String) -> LoadError {
        if !session.hasEnded { session.kill(reason: reason) }
        guard let end = session.end(within: Self.timeout) else { return .notStarted(reason) }
        return .died(end, end.text(session.modules))
    }
}

/// The limits and programs of the processes that plugins run in.
package struct IsolationSettings: Sendable, Equatable {
    /// How long loading, creating, a call or a process's answer may take before the process is killed.
    package var deadline: Duration = .seconds(10)
    /// The same for `validate`, `check` and `decide`, whose callers wait.
    package var questionDeadline: Duration = .seconds(1)
    /// The second delay before a dead process is restarted; the first is 0, and later ones double. Zero: always restart
    /// immediately, for tests.
    package var pause: Duration = .seconds(1)
    /// The maximum data memory of a process; nil: no limit.
    package var memory: ByteCount? = .mebibytes(256)
    /// The maximum share of one core that a process may use on average over ten seconds; 1 is a whole core. Nil: no
    /// limit.
    package var processors: Double?
    /// Whether processes drop their rights to files, network and programs.
    package var isSandboxed = true
    /// The program that loads plugins in their processes.
    package var program: String
    /// The programs that run Python plugins.
    package var python = PythonPrograms()

    package init(program: String) { self.program = program }
}

/// The programs that run Python plugins in their processes.
package struct PythonPrograms: Sendable, Hashable, Codable {
    /// The interpreter; empty: there is none.
    package var interpreter: String
    /// The program that it runs; empty: there is none.
    package var program: String
    /// Whether to print exceptions with their messages, which may hold secrets: for a plugin's author.
    package var showsErrors = false

    package init(interpreter: String = "", program: String = "") {
        self.interpreter = interpreter
        self.program = program
    }
}

/// The status of the process of one or several plugins, for `plugin list`, `/readyz` and metrics.
package struct PluginProcessReport: Sendable, Equatable {
    package enum State: Sendable, Equatable {
        case running
        /// It has ended and will be restarted after a delay.
        case restarting
        /// It has ended too often; it is retried once a minute.
        case pausing
    }

    /// The file names of its plugins.
    package var plugins: [String]
    package var process: Int32?
    package var state: State
    package var crashes: Int
    /// The last death: the plugin's name, the signal, the top of the stack; one line.
    package var lastCrash: String?
    /// Deliveries that ended as `plugin-crashed`.
    package var abandoned: Int
    /// Its active confinement, such as "files, system calls"; empty: none.
    package var confinement: String
}
