import PluginKit
import Synchronization

/// Connects to the broker as a message would, and leaves: does the broker take the account?
final class BrokerLogin: Sendable {
    private struct State {
        var session: MQTTSession
        /// Nil once it is answered.
        var answer: (@Sendable (CommandAnswer) -> Void)?
    }

    private let isRetained: Bool
    private let state: Mutex<State>

    private init(_ configuration: MQTTConfiguration, _ answer: @escaping @Sendable (CommandAnswer) -> Void) {
        isRetained = configuration.isRetained
        state = Mutex(State(session: MQTTSession(configuration.broker.passing), answer: answer))
    }

    /// Calls `answer` once, perhaps before it returns.
    static func check(
        _ configuration: MQTTConfiguration,
        host: Host,
        answer: @escaping @Sendable (CommandAnswer) -> Void
    ) {
        let login = BrokerLogin(configuration, answer)
        do throws(PluginError) {
            _ = try host.openStream(to: configuration.target) { stream, event in login.handle(event, stream) }
        } catch {
            login.finish(.check(Outcome(.retry, reason: "no-stream")))
        }
    }

    private func handle(_ event: StreamEvent, _ stream: HostStream) {
        let (actions, lack) = state.withLock { state in
            let actions: [MQTTSession.Action] =
                switch event {
                case .opened: state.session.opened()
                case .received(let bytes): state.session.received(bytes)
                case .drained: []
                case .closed(let reason): state.session.closed(reason)
                }
            return (actions, state.session.lack(isRetained: isRetained))
        }
        for action in actions {
            switch action {
            case .write(let bytes): _ = stream.write(bytes)
            case .close: stream.close()
            case .ready:
                finish(lack.map(CommandAnswer.check) ?? .accepted())
                _ = stream.write(MQTTPacket.disconnect)
                stream.close()
            case .failed(let outcome): finish(.check(outcome))
            // It is about a message, and there is none.
            case .finished: break
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
