import HTTPListening
import HTTPTypes
import HummingbirdCore
import Listening
import NIOCore
import RateLimits
import Synchronization
import Units

/// Answers requests: who may ask, how often, and what.
final class ConsoleHandler: Sendable {
    private struct State {
        var strangers: RateTable<ClientAddress>
        var callsInWork = 0
    }

    private let configuration: ConsoleConfiguration
    /// Nil: whoever can connect may ask for everything.
    private let token: (@Sendable () -> APIToken)?
    private let backend: any ConsoleBackend
    private let counts: LimitCounts
    private let now: @Sendable () -> Timestamp
    private let state: Mutex<State>

    init(
        configuration: ConsoleConfiguration,
        token: (@Sendable () -> APIToken)?,
        backend: any ConsoleBackend,
        counts: LimitCounts,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.configuration = configuration
        self.token = token
        self.backend = backend
        self.counts = counts
        self.now = now
        state = Mutex(
            State(
                strangers: RateTable(
                    burst: configuration.limits.strangersBurst,
                    perSecond: Double(configuration.limits.strangersPerSecond),
                    capacity: 10_000
                )
            )
        )
    }

    func answer(_ request: Request, on channel: any Channel) async throws -> ConsoleAnswer {
        let limits = configuration.limits
        try await request.readBody(atMost: limits.bodyBytes, within: limits.bodyTimeout, on: channel)
        return await answer(
            method: request.method.rawValue,
            target: request.head.path ?? "",
            authorization: request.headers[values: .authorization],
            from: channel.remoteAddress?.ipAddress ?? ""
        )
    }

    func answer(method: String, target: String, authorization: [String], from peer: String) async -> ConsoleAnswer {
        let isTrusted = token?().opens(authorization) ?? true
        let route = ConsoleRoute(method: method, target: target)
        if !isTrusted, !Self.isProbe(route, authorization), let refusal = refusal(ofStranger: peer) { return refusal }
        // Whoever has no token learns nothing of what there is.
        guard isTrusted || !target.hasPrefix("/api") else { return Self.unauthorized }
        let call: ConsoleCall
        switch route {
        case .call(.readiness): call = .readiness(withDetails: isTrusted)
        case .call(let asked): call = asked
        case .wrongMethod(let allow): return .wrongMethod(allow: allow)
        case .unknown(let expected): return .failure(404, expected)
        }
        guard isTrusted || isOpen(call) else { return Self.unauthorized }
        guard begin() else {
            counts.refused(by: .work)
            return .failure(503, "too many calls are in work: try again later")
        }
        defer { state.withLock { $0.callsInWork -= 1 } }
        return await backend.answer(call)
    }

    private static let unauthorized = ConsoleAnswer.failure(
        401,
        "expected the header Authorization: Bearer and the token in the file that api.token_file names"
    )

    /// What watches us asks for these, perhaps through the same proxy as everybody: no stranger may use up its share.
    /// They cost little. That readiness tells right tokens from wrong ones must not serve to try tokens out.
    private static func isProbe(_ route: ConsoleRoute, _ authorization: [String]) -> Bool {
        switch route {
        case .call(.health): true
        case .call(.readiness): authorization.isEmpty
        default: false
        }
    }

    private func isOpen(_ call: ConsoleCall) -> Bool {
        switch call {
        case .health, .readiness: true
        case .metrics: configuration.openMetrics
        case .explain, .devices, .device, .removeDevice, .testDevice, .reload, .plugins, .status, .relays, .users,
            .user, .accessRules, .decide, .logs, .setLog, .queue, .queued, .retryQueue, .dropQueue, .statistics:
            false
        }
    }

    private func refusal(ofStranger peer: String) -> ConsoleAnswer? {
        guard let address = ClientAddress(peer: peer, forwardedFor: [], isTrustedProxy: { _ in false }) else {
            return nil
        }
        let (isAdmitted, pause) = state.withLock { state in
            (state.strangers.take(address, now: now()), state.strangers.pause)
        }
        guard !isAdmitted else { return nil }
        counts.refused(by: .requests)
        return .tooMany(retryAfter: pause)
    }

    private func begin() -> Bool {
        state.withLock { state in
            guard state.callsInWork < configuration.limits.callsAtATime else { return false }
            state.callsInWork += 1
            return true
        }
    }
}
