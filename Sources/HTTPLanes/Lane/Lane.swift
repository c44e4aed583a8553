import NIOCore

/// One connection to an origin that speaks HTTP/2: from the first packet to the last. Belongs to one event loop.
final class Lane {
    private enum State {
        case connecting
        case open(HTTP2Session)
        case closed
    }

    private let loop: any EventLoop
    private let settings: LaneSettings
    /// Told of everything that concerns more than this lane; it keeps the lane until `laneClosed`.
    private weak var owner: (any LaneOwner)?
    private var state = State.connecting
    private var handler: LaneHandler?
    private var health: LaneHealth
    private let connectDeadline: Int64
    private var closeReason: HTTPFailure.Reason?

    init(owner: any LaneOwner, loop: any EventLoop, settings: LaneSettings) {
        self.owner = owner
        self.loop = loop
        self.settings = settings
        self.health = LaneHealth(settings: settings, now: loop.milliseconds)
        self.connectDeadline = loop.milliseconds + settings.connectTimeout
    }

    var isConnecting: Bool { if case .connecting = state { true } else { false } }

    /// How many requests it would take now.
    var free: Int { session?.budget.free ?? 0 }

    var inFlight: Int { session?.budget.inFlight ?? 0 }

    /// Whether it will take requests now or after some of those in flight are answered.
    var isUsable: Bool { session.map { !$0.budget.isDraining } ?? false }

    /// Whether a full lane is really full, rather than new and not yet trusted with more than one stream.
    var hasAnswered: Bool { (session?.answered ?? 0) > 0 }

    private var session: HTTP2Session? { if case .open(let session) = state { session } else { nil } }

    /// False when the lane did not take it.
    func submit(_ exchange: Exchange, now: Int64) -> Bool {
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

    /// Looks after deadlines and silence; says when to call again at the latest. Nil once closed.
    func check() -> Int64? {
        let now = loop.milliseconds
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
            let next: Int64
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
            return min(next, nextDeadline ?? .max)
        }
    }

    /// Ends the connection; what is in flight fails for `reason`.
    func close(_ reason: HTTPFailure.Reason) {
        if closeReason == nil { closeReason = reason }
        if let session {
            session.sayGoodbye()
            handler?.send(session)
        }
        handler?.close()
        channelClosed()
    }

    // From the channel.

    func attach(_ handler: LaneHandler) {
        // Too late: holding each other, the two would never be freed.
        if case .closed = state { return handler.close() }
        self.handler = handler
    }

    func handshakeCompleted(negotiated: String?) {
        guard case .connecting = state else { return }
        guard negotiated == "h2" else {
            owner?.laneSpeaksNoHTTP2(self)
            close(.protocolError)
            return
        }
        guard let session = HTTP2Session(streamLimit: settings.streamsPerConnection) else {
            close(.closed)
            return
        }
        state = .open(session)
        health = LaneHealth(settings: settings, now: loop.milliseconds)
        owner?.laneHasRoom(self)
        flush()
    }

    func received(_ bytes: UnsafeRawBufferPointer) {
        guard let session else { return }
        health.received(now: loop.milliseconds)
        if !session.receive(bytes) {
            closeReason = closeReason ?? .protocolError
            // The GOAWAY that says why.
            handler?.send(session)
            handler?.close()
        }
    }

    func readCompleted() {
        guard let session else { return }
        deliver(session)
        owner?.laneHasRoom(self)
        flush()
    }

    /// `tlsFlaw` is what TLS failed for, if it did.
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
            owner?.laneClosed(self, hasAnswered: false, closeReason ?? .unreachable)
        case .open(let session):
            let reason = closeReason ?? .closed
            state = .closed
            session.abandon(reason)
            deliver(session)
            owner?.laneClosed(self, hasAnswered: session.answered > 0, reason)
        }
        handler = nil
    }

    /// No channel came to be.
    func connectFailed(_ reason: HTTPFailure.Reason) {
        if closeReason == nil { closeReason = reason }
        channelClosed()
    }

    private func deliver(_ session: HTTP2Session) {
        for finished in session.takeFinished() {
            switch finished {
            case .answered(let exchange, let response):
                exchange.complete(.success(response))
            case .failed(let exchange, let failure):
                exchange.complete(.failure(failure))
            case .refused(let exchange):
                if let owner {
                    owner.laneRefused(exchange)
                } else {
                    exchange.fail(.closed, mayHaveBeenProcessed: false)
                }
            }
        }
    }
}
