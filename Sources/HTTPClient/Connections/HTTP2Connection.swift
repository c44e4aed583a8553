import Core
import Glibc
import NIOCore
import NIOSSL
import NIOTLS

/// One HTTP/2 connection to an origin for its whole life. Belongs to one event loop.
final class HTTP2Connection {
    private enum State {
        case connecting
        case open(HTTP2Session)
        case closed
    }

    private let loop: any EventLoop
    private let settings: ConnectionSettings
    /// Receives all events that concern more than this connection. It retains the connection until `connectionClosed`.
    private weak var owner: OriginConnections?
    private var state = State.connecting
    private var handler: ConnectionHandler?
    private var health: ConnectionHealth
    private let connectDeadline: Deadline
    private var closeReason: HTTPError.Reason?

    init(owner: OriginConnections, loop: any EventLoop, settings: ConnectionSettings) {
        self.owner = owner
        self.loop = loop
        self.settings = settings
        self.health = ConnectionHealth(settings: settings, now: loop.time)
        self.connectDeadline = loop.time + settings.connectTimeout
    }

    var isConnecting: Bool { if case .connecting = state { true } else { false } }

    /// The number of requests it can take now.
    var free: Int { session?.budget.free ?? 0 }

    var inFlight: Int { session?.budget.inFlight ?? 0 }

    /// Whether it can take requests, now or after some in flight complete.
    var isUsable: Bool { session.map { !$0.budget.isDraining } ?? false }

    /// Whether a request got a response. Until then the connection is limited to one stream.
    var hasAnswered: Bool { (session?.answered ?? 0) > 0 }

    private var session: HTTP2Session? { if case .open(let session) = state { session } else { nil } }

    /// Returns false if the connection does not take the request.
    func submit(_ exchange: Exchange, now: Deadline) -> Bool {
        guard let session, session.submit(exchange, now: now) else { return false }
        if health.submitted(now: now) { _ = check() }
        return true
    }

    /// Sends the submitted requests.
    func flush() {
        guard let session else { return }
        handler?.send(session)
        if session.isOver { handler?.close() }
    }

    /// Checks deadlines and silence. Returns the latest time for the next call, or nil once closed.
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
                session.sendGoAway()
                next = now + settings.pingTimeout
            }
            deliver(session)
            flush()
            return min(next, nextDeadline ?? .distantFuture)
        }
    }

    /// Closes the connection; requests in flight fail with `reason`.
    func close(_ reason: HTTPError.Reason) {
        if closeReason == nil { closeReason = reason }
        if let session {
            session.sendGoAway()
            handler?.send(session)
        }
        handler?.close()
        channelClosed()
    }

    // MARK: From the channel

    func attach(_ handler: ConnectionHandler) {
        // Too late: the two would retain each other forever.
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
        if !session.receive(bytes) {
            closeReason = closeReason ?? .protocolError
            // The GOAWAY with the reason.
            handler?.send(session)
            handler?.close()
        }
    }

    func readCompleted() {
        guard let session else { return }
        // Pending frames are sent first, so that the peer works while responses are processed.
        handler?.send(session)
        deliver(session)
        owner?.connectionIsReady(self)
        flush()
    }

    /// `tlsFlaw` is the reason if TLS failed.
    func failed(_ tlsFlaw: HTTPError.Reason?) {
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
    func connectFailed(_ reason: HTTPError.Reason) {
        if closeReason == nil { closeReason = reason }
        channelClosed()
    }

    /// Delivers the responses of one read with one wake-up for each receiver.
    private func deliver(_ session: HTTP2Session) {
        guard let first = session.nextFinished() else { return }
        WakeUps.together {
            deliver(first)
            while let one = session.nextFinished() { deliver(one) }
        }
    }

    private func deliver(_ finished: HTTP2Session.Finished) {
        switch finished {
        case .answered(let exchange, let response):
            exchange.complete(.success(response))
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

extension EventLoop {
    /// The loop's monotonic time.
    package var time: Deadline { Deadline(milliseconds: Int64(now.uptimeNanoseconds / 1_000_000)) }
}

extension NIODeadline {
    /// The same point in time; at most NIO's own distant future.
    package init(_ deadline: Deadline) {
        let milliseconds = min(max(0, deadline.milliseconds), .max / 1_000_000)
        self = .uptimeNanoseconds(UInt64(milliseconds) * 1_000_000)
    }
}

/// The last handler of a connection's channel, after TLS: passes bytes and events to its `HTTP2Connection`, and frames
/// back.
final class ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let connection: HTTP2Connection
    private var context: ChannelHandlerContext?
    private var buffer = ByteBuffer()

    init(connection: HTTP2Connection) {
        self.connection = connection
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        // It grows as needed.
        buffer = context.channel.allocator.buffer(capacity: ConnectionHandler.firstSize)
        connection.attach(self)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        connection.channelClosed()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted(let negotiated)? = event as? TLSUserEvent {
            connection.handshakeCompleted(negotiated: negotiated)
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        unwrapInboundIn(data).withUnsafeReadableBytes { connection.received($0) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        connection.readCompleted()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { connection.flush() }
    }

    func channelInactive(context: ChannelHandlerContext) {
        connection.channelClosed()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        connection.failed(TLSErrorReason(error, in: context).reason)
        context.close(promise: nil)
    }

    /// Sends the frames of `session` while the channel accepts them: first a small piece so that the peer can start,
    /// then larger ones to save system calls.
    func send(_ session: HTTP2Session) {
        guard let context else { return }
        var more = true
        var size = ConnectionHandler.firstPiece
        while more, context.channel.isWritable {
            buffer.clear()
            more = session.pump(into: &buffer, upTo: size)
            size = ConnectionHandler.furtherPiece
            guard buffer.readableBytes > 0 else { return }
            context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
        }
    }

    func close() {
        context?.close(promise: nil)
    }

    private static let firstSize = 1_024
    /// This piece plus the request that exceeds it mostly fit into a TLS record of 16 KiB.
    private static let firstPiece = 15_872
    private static let furtherPiece = 3 * 16_384 - 512
}

/// A TLS failure found in a channel's error.
package struct TLSErrorReason {
    /// Nil if the error is not from TLS.
    package let reason: HTTPError.Reason?

    package init(_ error: any Error, in context: ChannelHandlerContext) {
        switch error {
        case let error as NIOSSLExtraError:
            reason = error == .failedToValidateHostname ? .tlsName : .tls
        // BoringSSL reports no details, but the certificate is available.
        case NIOSSLError.handshakeFailed(let cause) where "\(cause)".contains("CERTIFICATE_VERIFY_FAILED"):
            let handler = try? context.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)
            reason = handler?.peerCertificate?.isValid(at: time(nil)) == false ? .tlsExpired : .tlsUntrusted
        default:
            reason = error is NIOSSLError || error is BoringSSLError ? .tls : nil
        }
    }
}

extension NIOSSLCertificate {
    fileprivate func isValid(at time: time_t) -> Bool { notValidBefore <= time && time <= notValidAfter }
}

/// Watches a silent connection: when to send a PING, when to give up, and when to close it as idle.
struct ConnectionHealth {
    enum Decision: Equatable {
        /// Check again at `next` at the latest.
        case fine(next: Deadline)
        case ping(next: Deadline)
        case dead
        case idle
    }

    private let settings: ConnectionSettings
    private var lastReceived: Deadline
    private var lastBusy: Deadline
    private var pingSent: Deadline?
    private var pingWanted = false

    init(settings: ConnectionSettings, now: Deadline) {
        self.settings = settings
        self.lastReceived = now
        self.lastBusy = now
    }

    mutating func received(now: Deadline) {
        lastReceived = now
        pingSent = nil
        pingWanted = false
    }

    /// Notes that a request is sent. After a long silence the peer may be gone, so a PING goes with it. Returns true if
    /// a check should follow immediately.
    mutating func submitted(now: Deadline) -> Bool {
        lastBusy = now
        guard pingSent == nil, !pingWanted, now - lastReceived >= settings.doubtAfterSilence else { return false }
        pingWanted = true
        return true
    }

    /// Notes that a request sent at `submittedAt` timed out. If no data has arrived since, the connection is in doubt.
    mutating func timedOut(submittedAt: Deadline) {
        if pingSent == nil, lastReceived <= submittedAt { pingWanted = true }
    }

    mutating func check(now: Deadline, inFlight: Int) -> Decision {
        if inFlight > 0 { lastBusy = now }
        if let pingSent {
            let limit = pingSent + settings.pingTimeout
            return now >= limit ? .dead : .fine(next: limit)
        }
        if pingWanted || now - lastReceived >= settings.pingAfterSilence {
            pingWanted = false
            pingSent = now
            return .ping(next: now + settings.pingTimeout)
        }
        if now - lastBusy >= settings.idleTimeout { return .idle }
        return .fine(next: min(lastReceived + settings.pingAfterSilence, lastBusy + settings.idleTimeout))
    }
}
