import Core
import PluginKit
import Synchronization

/// Publishes messages at the operator's broker, over a stream of the host.
final class MQTTSender: Sendable {
    /// The stream and the timer of one connection.
    private struct Line {
        let stream: HostStream
        var pings: HostTimer?
    }

    private struct State {
        var client: MQTTClient<Ticket>
        var lines: [Int: Line] = [:]
    }

    private let target: StreamTarget
    private let host: Host
    private let now: @Sendable () -> Timestamp
    private let reports: MQTTReports
    private let state: Mutex<State>

    init(_ configuration: MQTTConfiguration, host: Host, now: @escaping @Sendable () -> Timestamp) {
        target = configuration.target
        self.host = host
        self.now = now
        reports = MQTTReports(host)
        state = Mutex(State(client: MQTTClient(configuration.broker)))
    }

    /// Publishes a message as soon as the broker accepts it.
    func send(_ message: MQTTMessage, _ ticket: Ticket) -> Acceptance {
        guard let actions = state.withLock({ $0.client.deliver(message, for: ticket) }) else { return .busy }
        perform(actions)
        return .accepted
    }

    /// Ends a delivery whose message was not acknowledged yet.
    func cancel(_ number: UInt64) {
        let ticket = state.withLock { $0.client.withdraw { $0.number == number } }
        ticket?.complete(Outcome(.retry, reason: "cancelled"))
    }

    private func handle(_ event: StreamEvent, _ number: Int, _ stream: HostStream) {
        var pings: HostTimer?
        let actions = state.withLock { state in
            switch event {
            case .opened:
                state.lines[number] = Line(stream: stream)
                return state.client.opened(number)
            case .received(let bytes): return state.client.received(bytes, on: number)
            case .drained: return []
            case .closed(let reason):
                pings = state.lines.removeValue(forKey: number)?.pings
                return state.client.closed(number, reason)
            }
        }
        pings?.cancel()
        perform(actions)
    }

    /// Performs actions without the lock, because completing a ticket may start the next delivery. The order of
    /// messages does not matter, and the thread of the stream's events writes everything else.
    private func perform(_ actions: [MQTTClient<Ticket>.Action]) {
        for action in actions {
            switch action {
            case .open(let number): open(number)
            case .write(let number, let bytes):
                // A full buffer means that the broker does not read.
                if let stream = stream(number), stream.write(bytes) == .busy { stream.close() }
            case .close(let number): stream(number)?.close()
            case .startPings(let number, let seconds): startPings(number, every: .seconds(seconds))
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
            host.log(.warning, "could not connect to the broker: \(error)")
            perform(state.withLock { $0.client.closed(number, "no-stream") })
        }
    }

    private func startPings(_ number: Int, every period: Duration) {
        do throws(PluginError) {
            let timer = try host.startTimer(after: period, every: period) { [weak self] in
                guard let self else { return }
                perform(state.withLock { $0.client.pingDue(number) })
            }
            let isNeeded = state.withLock { state in
                state.lines[number]?.pings = timer
                return state.lines[number] != nil
            }
            // The connection has ended in the meantime.
            if !isNeeded { timer.cancel() }
        } catch {
            // The broker closes the connection after a while, and the next message opens another.
            host.log(.debug, "could not start pings to the broker: \(error)")
        }
    }

    private func stream(_ number: Int) -> HostStream? { state.withLock { $0.lines[number]?.stream } }
}

/// Logs problems for the operator, rate-limited.
private struct MQTTReports: Sendable {
    private let log: RateLimitedLog<String>

    init(_ host: Host) {
        log = RateLimitedLog(host)
    }

    func report(_ outcome: Outcome, now: Timestamp) {
        let message: String
        switch (outcome.kind, outcome.reason) {
        case (.misconfigured, "bad-credentials"): message = "the broker refused username and password"
        case (.misconfigured, "not-authorized"): message = "the broker did not authorize the account"
        case (.misconfigured, "protocol-version"):
            message = "the broker does not support this version of MQTT: set version"
        case (.misconfigured, let reason): message = "the broker refused the connection or its messages: \(reason)"
        case (.rejected, "not-authorized"):
            message = "the broker did not allow the account to publish to a topic: check its access rules"
        default: return
        }
        let code = outcome.status == 0 ? "" : " (\(outcome.status))"
        log.log(outcome.reason, outcome.kind == .misconfigured ? .error : .warning, now: now, message + code)
    }
}
