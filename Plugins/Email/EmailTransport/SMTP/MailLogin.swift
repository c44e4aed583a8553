import PluginKit
import Synchronization

/// Connects to the mail server, logs in as a message would, and leaves: does the server take the credentials?
final class MailLogin: Sendable {
    private struct State {
        var session: SMTPSession
        /// Nil once it is answered.
        var answer: (@Sendable (CommandAnswer) -> Void)?
    }

    private let state: Mutex<State>

    private init(_ server: MailServer, _ answer: @escaping @Sendable (CommandAnswer) -> Void) {
        state = Mutex(State(session: SMTPSession(server), answer: answer))
    }

    /// Calls `answer` once, perhaps before it returns.
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
