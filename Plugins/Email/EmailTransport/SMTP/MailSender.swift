import Core
import PluginKit
import Synchronization

/// Sends messages through the operator's mail server, over streams of the host.
final class MailSender: Sendable {
    private struct State {
        var pool: SMTPPool<Ticket>
        var streams: [Int: HostStream] = [:]
    }

    private let target: StreamTarget
    private let host: Host
    private let now: @Sendable () -> Timestamp
    private let reports: MailReports
    private let state: Mutex<State>

    init(_ configuration: EmailConfiguration, host: Host, now: @escaping @Sendable () -> Timestamp) {
        target = configuration.server.target
        self.host = host
        self.now = now
        reports = MailReports(host)
        state = Mutex(State(pool: SMTPPool(configuration.server, connections: configuration.connections)))
    }

    /// Sends a message as soon as a connection is free.
    func send(_ mail: OutgoingMail, _ ticket: Ticket) -> Acceptance {
        guard let actions = state.withLock({ $0.pool.deliver(mail, for: ticket) }) else { return .busy }
        perform(actions)
        return .accepted
    }

    /// Ends a delivery that still waits for a connection.
    func cancel(_ number: UInt64) {
        let ticket = state.withLock { $0.pool.withdraw { $0.number == number } }
        ticket?.complete(Outcome(.retry, reason: "cancelled"))
    }

    private func handle(_ event: StreamEvent, _ number: Int, _ stream: HostStream) {
        perform(
            state.withLock { state in
                switch event {
                case .opened:
                    state.streams[number] = stream
                    return state.pool.opened(number)
                case .received(let bytes): return state.pool.received(bytes, on: number)
                case .drained: return []
                case .closed(let reason):
                    state.streams[number] = nil
                    return state.pool.closed(number, reason)
                }
            }
        )
    }

    /// Performs actions without the lock, because completing a ticket may start the next delivery. No connection has
    /// two pending writes, so the order is kept.
    private func perform(_ actions: [SMTPPool<Ticket>.Action]) {
        for action in actions {
            switch action {
            case .open(let number): open(number)
            case .write(let number, let bytes):
                // A full buffer means that the server does not read.
                if let stream = stream(number), stream.write(bytes) == .busy { stream.close() }
            case .startTLS(let number): stream(number)?.startTLS()
            case .close(let number): stream(number)?.close()
            case .complete(let ticket, let outcome):
                reports.report(outcome, now: now())
                ticket.complete(outcome)
            }
        }
    }

    private func open(_ number: Int) {
        do throws(PluginError) {
            _ = try host.openStream(to: target) { [self] stream, event in handle(event, number, stream) }
        } catch {
            host.log(.warning, "could not connect to the mail server: \(error)")
            perform(state.withLock { $0.pool.closed(number, "no-stream") })
        }
    }

    private func stream(_ number: Int) -> HostStream? { state.withLock { $0.streams[number] } }
}

/// Logs problems for the operator, rate-limited. It never logs the server's text, which may quote addresses.
struct MailReports: Sendable {
    private let log: RateLimitedLog<String>

    init(_ host: Host) {
        log = RateLimitedLog(host)
    }

    func report(_ outcome: Outcome, now: Timestamp) {
        let message: String
        switch (outcome.kind, outcome.reason) {
        case (.misconfigured, "bad-credentials"): message = "the mail server refused username and password"
        case (.misconfigured, "starttls-missing"):
            message = "the mail server does not support STARTTLS: check port and security"
        case (.misconfigured, "no-login-mechanism"):
            message = "the mail server supports neither PLAIN nor LOGIN: remove username if it is not needed"
        case (.misconfigured, "login-required"): message = "the mail server requires username and password"
        case (.misconfigured, "sender-refused"):
            message = "the mail server refused the sender: check return_path and from"
        case (.misconfigured, let reason): message = "the mail server refused the connection: \(reason)"
        case (.rejected, "policy"):
            message = "the mail server refused a message by its policy: check that the account may send to any domain"
        case (.rejected, "smtputf8-missing"):
            message = "an address needs SMTPUTF8, which the mail server does not support"
        default: return
        }
        let code = outcome.status == 0 ? "" : " (\(outcome.status))"
        log.log(outcome.reason, outcome.kind == .misconfigured ? .error : .warning, now: now, message + code)
    }
}

/// Connects to the mail server and logs in, to check whether the server accepts the credentials.
final class MailLogin: Sendable {
    private struct State {
        var session: SMTPSession
        /// The completion; nil after it was called.
        var answer: (@Sendable (CommandAnswer) -> Void)?
    }

    private let state: Mutex<State>

    private init(_ server: MailServer, _ answer: @escaping @Sendable (CommandAnswer) -> Void) {
        state = Mutex(State(session: SMTPSession(server), answer: answer))
    }

    /// Calls `answer` once, possibly before this returns.
    static func check(_ server: MailServer, host: Host, answer: @escaping @Sendable (CommandAnswer) -> Void) {
        let login = MailLogin(server, answer)
        do throws(PluginError) {
            _ = try host.openStream(to: server.target) { stream, event in login.handle(event, stream) }
        } catch {
            login.finish(.check(Outcome(.retry, reason: "no-stream")))
        }
    }

    private func handle(_ event: StreamEvent, _ stream: HostStream) {
        let actions = state.withLock { state in
            switch event {
            case .opened: state.session.opened()
            case .received(let bytes): state.session.received(bytes)
            case .drained: [SMTPSession.Action]()
            case .closed(let reason): state.session.closed(reason)
            }
        }
        for action in actions {
            switch action {
            case .write(let bytes): _ = stream.write(bytes)
            case .startTLS: stream.startTLS()
            case .close: stream.close()
            case .ready:
                finish(.accepted())
                _ = stream.write([UInt8]("QUIT\r\n".utf8))
                stream.close()
            case .failed(let outcome): finish(.check(outcome))
            // These are about messages, and there is none.
            case .finished, .unsent: break
            }
        }
    }

    private func finish(_ answer: CommandAnswer) {
        let waiter = state.withLock { state in
            defer { state.answer = nil }
            return state.answer
        }
        waiter?(answer)
    }
}
