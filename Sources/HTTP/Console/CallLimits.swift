import Core
import Listeners
import NIOCore
import Synchronization

/// Rate limits for each client, and limits for concurrent calls.
final class CallLimits: Sendable {
    private struct State {
        var strangers: RateTable<ClientAddress>
        var principals: RateTable<APIPrincipal>
        var callsInWork = 0
        var ownersInWork = 0
        var sendsInWork = 0
        var longBodies = 0
    }

    /// Up to this many addresses, and as many principals, are tracked.
    private static let maxKnown = 10_000

    private let limits: ConsoleConfiguration.Limits
    private let isTrustedProxy: @Sendable (String) -> Bool
    private let counts: LimitCounts
    private let now: @Sendable () -> Timestamp
    private let state: Mutex<State>

    init(_ configuration: ConsoleConfiguration, now: @escaping @Sendable () -> Timestamp) {
        limits = configuration.limits
        isTrustedProxy = configuration.isTrustedProxy
        counts = configuration.counts
        self.now = now
        state = Mutex(
            State(
                strangers: RateTable(
                    burst: limits.strangersBurst,
                    perSecond: Double(limits.strangersPerSecond),
                    capacity: Self.maxKnown
                ),
                principals: RateTable(
                    burst: limits.principalBurst,
                    perSecond: Double(limits.perPrincipalPerSecond),
                    capacity: Self.maxKnown
                )
            )
        )
    }

    // MARK: Rate limits

    func admit(_ principal: APIPrincipal) throws(APIError) {
        let (isAdmitted, pause) = state.withLock { state in
            (state.principals.take(principal, now: now()), state.principals.pause)
        }
        if !isAdmitted { throw tooMany(pause) }
    }

    func admitStranger(_ head: APIRequestHead) throws(APIError) {
        let forwarded = head.fields("x-forwarded-for")
        let client =
            ClientAddress(peer: head.peer, forwardedFor: forwarded, isTrustedProxy: isTrustedProxy)
            // A proxy that sends no client address counts as one client.
            ?? ClientAddress(head.peer)
        guard let client else { return }
        let (isAdmitted, pause) = state.withLock { state in
            (state.strangers.take(client, now: now()), state.strangers.pause)
        }
        if !isAdmitted { throw tooMany(pause) }
    }

    private func tooMany(_ pause: Duration) -> APIError {
        counts.refused(by: .requests)
        return APIError(429, "too many requests: wait \(pause.seconds) s", retryAfter: pause.seconds)
    }

    // MARK: Concurrency limits

    /// Runs `body` if there is capacity. Requests that accounts sign may use up to half of it.
    func work<Answer>(for access: APIAccess, _ body: () async throws -> Answer) async throws -> Answer {
        let isAdmitted = state.withLock { state in
            switch access {
            case .scope(.send):
                guard state.sendsInWork < limits.sendsAtATime else { return false }
                state.sendsInWork += 1
            case .owner:
                guard state.callsInWork < limits.callsAtATime,
                    state.ownersInWork < max(1, limits.callsAtATime / 2)
                else { return false }
                state.callsInWork += 1
                state.ownersInWork += 1
            case .everybody, .scope:
                guard state.callsInWork < limits.callsAtATime else { return false }
                state.callsInWork += 1
            }
            return true
        }
        guard isAdmitted else {
            counts.refused(by: .work)
            throw APIError(503, "too many calls are in progress: try again later", retryAfter: 1)
        }
        defer { end(access) }
        return try await body()
    }

    private func end(_ access: APIAccess) {
        state.withLock { state in
            switch access {
            case .scope(.send): state.sendsInWork -= 1
            case .owner:
                state.callsInWork -= 1
                state.ownersInWork -= 1
            case .everybody, .scope: state.callsInWork -= 1
            }
        }
    }

    /// Takes a slot until ``endLongBody()``.
    func admitLongBody() throws(APIError) {
        let isAdmitted = state.withLock { state in
            guard state.longBodies < limits.longBodiesAtATime else { return false }
            state.longBodies += 1
            return true
        }
        guard !isAdmitted else { return }
        counts.refused(by: .work)
        throw APIError(503, "too many calls with long bodies are in progress: try again later", retryAfter: 1)
    }

    func endLongBody() { state.withLock { $0.longBodies -= 1 } }
}

/// A request's body while it is read. A body above the usual limit needs permission, which depends on the endpoint and
/// the client.
struct GatheredBody {
    private(set) var bytes = ByteBuffer()
    /// Whether a body above the usual limit was permitted.
    private(set) var isLong = false
    private var limit: ByteCount
    private var refusal: APIError?

    init(usual: ByteCount) {
        limit = usual
    }

    /// `leave` is called at most once; it returns the permitted length.
    mutating func add(_ part: ByteBuffer, leave: () throws(APIError) -> ByteCount) throws(RequestError) {
        let count = bytes.readableBytes + part.readableBytes
        if count > limit.bytes, !isLong {
            do throws(APIError) {
                limit = try leave()
                isLong = true
            } catch {
                refusal = error
            }
        }
        guard count <= limit.bytes else { throw .tooLong }
        bytes.writeImmutableBuffer(part)
    }

    /// The error for a body that was too long.
    var problem: APIError { refusal ?? Self.tooLong(limit) }

    static func tooLong(_ limit: ByteCount) -> APIError {
        APIError(413, "the body: expected at most \(limit.bytes) bytes")
    }
}
