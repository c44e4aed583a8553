import Core
public import PluginKit
import Synchronization

/// MQTT 3.1.1 and 5: publishes each notification as JSON at the operator's broker, to the registration's topic.
public final class MQTTTransport: PluginTransport {
    public static let platform: StaticString = "mqtt"
    public static let description: StaticString? = MQTTDescription.json

    private let configuration: MQTTConfiguration
    private let host: Host
    private let sender: MQTTSender
    private let now: @Sendable () -> Timestamp

    public convenience init(configuration: JSONObject, host: Host) throws(PluginError) {
        try self.init(configuration: configuration, host: host, now: Timestamp.now)
    }

    init(configuration: JSONObject, host: Host, now: @escaping @Sendable () -> Timestamp) throws(PluginError) {
        let configuration = try MQTTConfiguration(configuration)
        self.configuration = configuration
        self.host = host
        sender = MQTTSender(configuration, host: host, now: now)
        self.now = now
    }

    public static func check(_ block: JSONObject) throws(PluginError) {
        try NotificationJSON.check(block)
    }

    public func validate(_ registration: borrowing Registration) throws(PluginError) {
        _ = try topic(registration)
    }

    public func deliver(
        _ ticket: Ticket,
        _ registration: borrowing Registration,
        _ notification: borrowing Notification
    ) -> Acceptance {
        let topic: String
        do throws(PluginError) {
            topic = try self.topic(registration)
        } catch {
            return .invalid
        }
        switch notification.mode {
        case nil: return .unsupported
        case .sealed where notification.sealed.isEmpty: return .unsupported
        default: break
        }
        do throws(ReadableMessageError) {
            let message = MQTTMessage(
                topic: topic,
                payload: try NotificationJSON.make(notification),
                isRetained: configuration.isRetained,
                lifetimeSeconds: notification.expiresAt.map { UInt32(clamping: max(1, ($0 - now()).seconds)) }
            )
            return sender.send(message, ticket)
        } catch {
            ticket.complete(Outcome(.rejected, reason: error.rawValue))
            return .accepted
        }
    }

    public func cancel(_ number: UInt64) {
        sender.cancel(number)
    }

    /// Runs `check`, which logs in to the broker.
    public func command(_ words: [String], completion: @escaping @Sendable (CommandAnswer) -> Void) -> Acceptance {
        switch words {
        case ["check"]: BrokerLogin.check(configuration, host: host, answer: completion)
        case ["help"]: completion(.helpOnCheck)
        default: return .unsupported
        }
        return .accepted
    }

    private func topic(_ registration: borrowing Registration) throws(PluginError) -> String {
        let token = registration.token.string
        guard TopicName.isPlain(token) else {
            throw PluginError(
                "token: expected a topic such as phones/living-room, without + and #, at most \(TopicName.limit) bytes"
            )
        }
        return configuration.topicPrefix + token
    }
}

/// Connects to the broker to check whether it accepts the account.
final class BrokerLogin: Sendable {
    private struct State {
        var session: MQTTSession
        /// The completion; nil after it was called.
        var answer: (@Sendable (CommandAnswer) -> Void)?
    }

    private let isRetained: Bool
    private let state: Mutex<State>

    private init(_ configuration: MQTTConfiguration, _ answer: @escaping @Sendable (CommandAnswer) -> Void) {
        isRetained = configuration.isRetained
        state = Mutex(State(session: MQTTSession(configuration.broker.passing), answer: answer))
    }

    /// Calls `answer` once, possibly before this returns.
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
