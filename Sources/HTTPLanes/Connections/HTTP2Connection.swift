import NIOCore
import Units
import WakeUps

/// One HTTP/2 connection to an origin, from the first packet to the last. Belongs to one event loop.
final class HTTP2Connection {
    private enum State {
        case connecting
        case open(HTTP2Session)
        case closed
    }

    private let loop: any EventLoop
    private let settings: ConnectionSettings
    /// Receives all events that concern more than this connection. It keeps the connection until `connectionClosed`.
    private weak var owner: (any ConnectionOwner)?
    private var state = State.connecting
    private var handler: ConnectionHandler?
    private var health: ConnectionHealth
    private let connectDeadline: Deadline
    private var closeReason: HTTPFailure.Reason?

    init(owner: any ConnectionOwner, loop: any EventLoop, settings: ConnectionSettings) {
        self.owner = owner
        self.loop = loop
        self.settings = settings
        self.health = ConnectionHealth(settings: settings, now: loop.time)
        self.connectDeadline = loop.time + settings.connectTimeout
    }

    var isConnecting: Bool { if case .connecting = state { true } else { false } }

    /// How many requests it can take now.
    var free: Int { session?.budget.free ?? 0 }

    var inFlight: Int { session?.budget.inFlight ?? 0 }

    /// Whether it can take requests, now or after some in flight are answered.
    var isUsable: Bool { session.map { !$0.budget.isDraining } ?? false }

    /// Whether it has answered a request. Before that it is new and not yet trusted with more than one stream.
    var hasAnswered: Bool { (session?.answered ?? 0) > 0 }

    private var session: HTTP2Session? { if case .open(let session) = state { session } else { nil } }

    /// Returns false when the connection does not take the request.
    func submit(_ exchange: Exchange, now: Deadline) -> Bool {
        guard let session, session.submit(exchange, now: now) else { return false }
        if health.submitted(now: now) { _ = check() }
        return true
    }

    /// Sends what has been submitted.
    func flush() {
        guard let session else { return }
        handler?.send(session)
        if session.isOver { handler?.close() }
    }

    /// Checks deadlines and silence. Returns when to call again at the latest, or nil once closed.
    func check() -> Deadline? {
        let now = loop.time
        switch state {
        case .closed:
            return nil
        case .connecting:
            guard now >= connectDeadline else { return connectDeadline }
            close(.unreachable)
            return nil
        case .open(let session):
            let (nextDeadline, earliestSubmission) = session.expire(now: now)
            if let earliestSubmission { health.timedOut(submittedAt: earliestSubmission) }
            let next: Deadline
            switch health.check(now: now, inFlight: session.budget.inFlight) {
            case .fine(let at):
                next = at
            case .ping(let at):
                session.ping()
                next = at
            case .dead:
                close(.closed)
                return nil
            case .idle:
                session.sayGoodbye()
                next = now + settings.pingTimeout
            }
            deliver(session)
            flush()
            return min(next, nextDeadline ?? .distantFuture)
        }
    }

    /// Ends the connection; requests in flight fail with `reason`.
    func close(_ reason: HTTPFailure.Reason) {
        if closeReason == nil { closeReason = reason }
        if let session {
            session.sayGoodbye()
            handler?.send(session)
        }
        handler?.close()
        channelClosed()
    }

    // MARK: From the channel

    func attach(_ handler: ConnectionHandler) {
        // Too late: the two would hold each other forever.
        if case .closed = state { return handler.close() }
        self.handler = handler
    }

    func handshakeCompleted(negotiated: String?) {
        guard case .connecting = state else { return }
        guard negotiated == "h2" else {
            owner?.connectionSpeaksNoHTTP2(self)
            close(.protocolError)
            return
        }
        guard let session = HTTP2Session(streamLimit: settings.streamsPerConnection) else {
            close(.closed)
            return
        }
        state = .open(session)
        health = ConnectionHealth(settings: settings, now: loop.time)
        owner?.connectionIsReady(self)
        flush()
    }

    func received(_ bytes: UnsafeRawBufferPointer) {
        guard let session else { return }
        health.received(now: loop.time)
        if session.findsRoom(in: bytes) { handler?.send(session) }
        if !session.receive(bytes) {
            closeReason = closeReason ?? .protocolError
            // The GOAWAY with the reason.
            handler?.send(session)
            handler?.close()
        }
    }

    func readCompleted() {
        guard let session else { return }
        // What waited for the peer goes out first, so that the peer works while answers are taken.
        handler?.send(session)
        deliver(session)
        owner?.connectionIsReady(self)
        flush()
    }

    /// `tlsFlaw` is the reason if TLS failed.
    func failed(_ tlsFlaw: HTTPFailure.Reason?) {
        guard closeReason == nil else { return }
        closeReason = isConnecting ? tlsFlaw ?? .closed : .closed
    }

    func channelClosed() {
        switch state {
        case .closed:
            return
        case .connecting:
            state = .closed
            owner?.connectionClosed(self, hasAnswered: false, closeReason ?? .unreachable)
        case .open(let session):
            let reason = closeReason ?? .closed
            state = .closed
            session.abandon(reason)
            deliver(session)
            owner?.connectionClosed(self, hasAnswered: session.answered > 0, reason)
        }
        handler = nil
    }

    /// Called when no channel could be made.
    func connectFailed(_ reason: HTTPFailure.Reason) {
        if closeReason == nil { closeReason = reason }
        channelClosed()
    }

    /// The answers of one read wake whoever takes them once.
    private func deliver(_ session: HTTP2Session) {
        guard let first = session.nextFinished() else { return }
        var spent: [Exchange] = []
        WakeUps.together {
            deliver(first, &spent)
            while let one = session.nextFinished() { deliver(one, &spent) }
        }
        if !spent.isEmpty { owner?.connectionIsDone(with: spent) }
    }

    private func deliver(_ finished: consuming HTTP2Session.Finished, _ spent: inout [Exchange]) {
        switch consume finished {
        case .answered(let exchange, let response):
            exchange.complete(.success(response))
            spent.append(exchange)
        case .failed(let exchange, let failure):
            exchange.complete(.failure(failure))
        case .refused(let exchange):
            if let owner {
                owner.connectionRefused(exchange)
            } else {
                exchange.fail(.closed, mayHaveBeenProcessed: false)
            }
        }
    }
}

/// Receives the events of a connection, on its event loop.
protocol ConnectionOwner: AnyObject {
    /// It may take requests now; they are flushed after this returns.
    func connectionIsReady(_ connection: HTTP2Connection)
    /// The server chose another protocol in ALPN (RFC 7301); the connection closes itself.
    func connectionSpeaksNoHTTP2(_ connection: HTTP2Connection)
    /// The server has not processed this request.
    func connectionRefused(_ exchange: Exchange)
    /// These were answered, and nothing but memory is left of them.
    func connectionIsDone(with exchanges: consuming [Exchange])
    /// The last event of a connection.
    func connectionClosed(_ connection: HTTP2Connection, hasAnswered: Bool, _ reason: HTTPFailure.Reason)
}

extension EventLoop {
    /// What the loop's monotonic clock shows.
    package var time: Deadline { Deadline(milliseconds: Int64(now.uptimeNanoseconds / 1_000_000)) }
}

extension NIODeadline {
    /// The same moment; no later than NIO's own distant future.
    package init(_ deadline: Deadline) {
        let milliseconds = min(max(0, deadline.milliseconds), .max / 1_000_000)
        self = .uptimeNanoseconds(UInt64(milliseconds) * 1_000_000)
    }
}
