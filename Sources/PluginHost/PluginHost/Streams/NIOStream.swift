import Core
import HTTPClient
import Logging
import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS
import Synchronization

/// Network streams with the operator's settings for outgoing HTTP: roots, address guard, proxy.
///
/// A proxy must support CONNECT. With any other proxy no stream opens, because all traffic must use the proxy.
package final class NetworkStreams: StreamConnector {
    private let dialer: OriginDialer
    private let gate: RequestGate?
    private let group: any EventLoopGroup

    /// - Parameters:
    ///   - configuration: Roots, exceptions of the address guard, proxy, and the gate. A stream that must send while
    ///     the gate is closed ends as if its connection broke.
    ///   - group: Runs the connections; must outlive them.
    ///   - logger: Logs about the proxy.
    /// - Throws: `HTTPLanesError` if the roots, the proxy or an address block are invalid.
    package init(configuration: HTTPLanes.Configuration, group: any EventLoopGroup, logger: Logger) throws {
        dialer = try OriginDialer(configuration, logger: logger) { tls in
            // How long the other side may take to confirm the end.
            tls.shutdownTimeout = .seconds(1)
        }
        if !dialer.canDial {
            logger.info("Plugins' streams are disabled: they need a proxy with the scheme http")
        }
        gate = configuration.gate
        self.group = group
    }

    package func stream(to target: StreamTarget, _ receiver: any StreamReceiver) -> any StreamConnection {
        NIOStream(target, receiver, dialer: dialer, gate: gate, loop: group.next())
    }
}

/// A network stream: the shell around ``StreamState``, and the last handler of its channel.
///
/// All actions run on its event loop, in the order in which the state returned them.
///
/// `@unchecked Sendable`: the lock guards the shell, and everything else that changes belongs to the event loop.
final class NIOStream: ChannelInboundHandler, StreamConnection, @unchecked Sendable {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private struct Shell: Sendable {
        var state: StreamState
        /// Actions for the loop, in order.
        var actions: ArraySlice<StreamState.Action> = []
        /// No action runs before.
        var isStarted = false
    }

    /// The maximum number of bytes in one call to the receiver.
    static let pieceSize = 64 << 10

    private let target: StreamTarget
    private let receiver: any StreamReceiver
    private let dialer: OriginDialer
    /// No data is sent while it is closed; nil: always open.
    private let gate: RequestGate?
    private let loop: any EventLoop
    private let shell: Mutex<Shell>

    // Belongs to the event loop.
    private var context: ChannelHandlerContext?
    private var isPerforming = false
    private var isReading = true
    /// Whether to read from the channel as soon as reading is permitted.
    private var owesRead = false
    private var timer: (at: Deadline, task: Scheduled<Void>)?

    init(
        _ target: StreamTarget,
        _ receiver: any StreamReceiver,
        dialer: OriginDialer,
        gate: RequestGate?,
        loop: any EventLoop
    ) {
        self.target = target
        self.receiver = receiver
        self.dialer = dialer
        self.gate = gate
        self.loop = loop
        shell = Mutex(Shell(state: StreamState(target, now: loop.time)))
    }

    // MARK: StreamConnection

    func start() {
        shell.withLock { $0.isStarted = true }
        loop.execute { [self] in
            perform()
            guard !hasEnded else { return }
            dial().whenComplete { [self] result in
                switch result {
                case .success: change { $0.connected(now: $1) }
                case .failure(let error): change { state, _ in state.failed(StreamError(ofDialing: error)) }
                }
            }
        }
    }

    /// Connects, through a proxy if there is one, with this as the last handler of the channel.
    private func dial() -> EventLoopFuture<Void> {
        guard let origin = Origin(host: target.host, port: target.port) else { return failed(.unresolved) }
        guard dialer.canDial else { return failed(.unreachable) }
        let timeout = target.connectTimeout
        return dialer.dial(origin, isGuarded: target.isUntrusted, timeout: timeout, on: loop) { bootstrap in
            // Bytes that the plugin does not take stay in this buffer, or with the sender.
            bootstrap.channelOption(.socketOption(.so_rcvbuf), value: 256 << 10)
                .channelOption(.maxMessagesPerRead, value: 1)
                .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: Self.pieceSize))
        } _: { [self] channel in
            // Only now: several channels exist while addresses race, and one of them wins. Before the CONNECT request,
            // because the server's first bytes may come with the proxy's last.
            try channel.pipeline.syncOperations.addHandler(self)
        }
        .flatMapThrowing { [self] channel in try takeOver(channel) }
    }

    private func failed(_ reason: HTTPError.Reason) -> EventLoopFuture<Void> {
        loop.makeFailedFuture(HTTPError(reason, mayHaveBeenProcessed: false))
    }

    private func tlsHandler() throws -> NIOSSLClientHandler {
        guard let origin = Origin(host: target.host, port: target.port) else {
            throw HTTPError(.tls, mayHaveBeenProcessed: false)
        }
        guard !target.authorities.isEmpty else { return try dialer.tlsHandler(for: origin, dialer.context) }
        let context = try dialer.context { tls in
            tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(target.authorities))
            tls.additionalTrustRoots = []
        }
        return try dialer.tlsHandler(for: origin, context)
    }

    func write(_ bytes: [UInt8]) { ask { $0.write(bytes, now: $1) } }
    func startTLS() { ask { $0.startTLS(now: $1) } }
    func close() { ask { $0.close(now: $1) } }
    func end(_ failure: StreamError) { ask { state, _ in state.end(failure) } }

    func setReading(_ isReading: Bool) {
        if loop.inEventLoop { changeReading(isReading) } else { loop.execute { self.changeReading(isReading) } }
    }

    private func changeReading(_ isReading: Bool) {
        self.isReading = isReading
        guard isReading, owesRead else { return }
        owesRead = false
        context?.read()
    }

    // MARK: The state

    private typealias Change = (inout StreamState, Deadline) -> [StreamState.Action]

    private func note(_ body: Change) -> Bool {
        let now = loop.time
        return shell.withLock { shell in
            shell.actions += body(&shell.state, now)
            return shell.isStarted && !shell.actions.isEmpty
        }
    }

    /// From any thread: the actions run later, so that no event comes from inside the call.
    private func ask(_ body: Change) {
        if note(body) { loop.execute { self.perform() } }
    }

    /// Called on the loop.
    private func change(_ body: Change) {
        _ = note(body)
        perform()
    }

    private var hasEnded: Bool { shell.withLock(\.state.hasEnded) }

    private func perform() {
        // An action may call this again; its new actions are already in the list.
        guard !isPerforming else { return }
        isPerforming = true
        while let action = nextAction() { perform(action) }
        isPerforming = false
        schedule()
    }

    private func nextAction() -> StreamState.Action? {
        shell.withLock { shell in
            guard let action = shell.actions.popFirst() else { return nil }
            // The owner has requested TLS since then, and would take these bytes for protected.
            guard case .deliver = action, shell.state.isAwaitingTLS else { return action }
            shell.actions += shell.state.end(.tls)
            return shell.actions.popFirst()
        }
    }

    private func perform(_ action: StreamState.Action) {
        switch action {
        case .send(let bytes): send(bytes)
        case .secure: secure()
        case .opened: receiver.opened()
        case .deliver(let bytes): deliver(bytes)
        case .acknowledge(let total): receiver.sent(total)
        case .shut: context?.close(promise: nil)
        case .end(let failure):
            context?.close(promise: nil)
            receiver.closed(failure) {}
        }
    }

    private func send(_ bytes: [UInt8]) {
        guard let context else { return }
        // The same as for requests: the router that took over sends these bytes too. The server ignores half a message.
        guard gate?.isOpen != false else { return change { state, _ in state.end(.reset) } }
        let count = bytes.count
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: bytes))).whenSuccess { [self] in
            change { $0.sent(count, now: $1) }
        }
    }

    private func deliver(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                receiver.received(UnsafeRawBufferPointer(rebasing: rest.prefix(Self.pieceSize)))
                rest = rest.dropFirst(Self.pieceSize)
            }
        }
    }

    private func secure() {
        guard let context else { return }
        do {
            try context.channel.pipeline.syncOperations.addHandler(tlsHandler(), position: .first)
        } catch {
            change { state, _ in state.failed(.tls) }
        }
    }

    private func schedule() {
        let due = shell.withLock(\.state.nextDeadline)
        if let timer, let due, timer.at <= due { return }
        timer?.task.cancel()
        timer = due.map { due in
            let task = loop.scheduleTask(deadline: NIODeadline(due)) { [self] in
                timer = nil
                change { $0.tick(now: $1) }
            }
            return (due, task)
        }
    }

    // MARK: The channel

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    /// Takes the connected channel, perhaps through a proxy. From now on the handler decides when to read.
    func takeOver(_ channel: any Channel) throws {
        try channel.syncOptions?.setOption(.autoRead, value: false)
        guard !hasEnded else { return channel.close(promise: nil) }
        context?.read()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        change { state, _ in state.channelClosed() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = Array(buffer: unwrapInboundIn(data))
        change { $0.received(bytes, now: $1) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if isReading { context.read() } else { owesRead = true }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent { change { $0.secured(now: $1) } }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        change { state, _ in state.channelClosed() }
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let failure: StreamError =
            if case NIOSSLError.uncleanShutdown = error {
                .reset
            } else {
                TLSErrorReason(error, in: context).reason.flatMap { StreamError(rawValue: $0.rawValue) } ?? .reset
            }
        change { state, _ in state.failed(failure) }
        context.close(promise: nil)
    }
}

extension StreamError {
    /// The reason for a failed connection.
    init(ofDialing error: any Error) {
        switch error {
        case let failure as HTTPError: self = StreamError(rawValue: failure.reason.rawValue) ?? .unreachable
        case let error as NIOConnectionError:
            let cause = (error.dnsAError ?? error.dnsAAAAError) as? HTTPError
            if error.connectionErrors.isEmpty, let cause {
                self.init(ofDialing: cause)
            } else {
                let isLate = error.connectionErrors.contains {
                    if case ChannelError.connectTimeout = $0.error { true } else { false }
                }
                self = isLate ? .timeout : .unreachable
            }
        case ChannelError.connectTimeout: self = .timeout
        default: self = .unreachable
        }
    }
}
