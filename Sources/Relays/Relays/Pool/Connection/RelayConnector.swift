import Core
import HTTPClient
import Listeners
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket

/// Opens WebSocket connections (RFC 6455), for `wss` over TLS 1.2 or later with certificate checks.
///
/// Users' relays pass the address guard, their names are resolved on separate threads, and the number being opened at a
/// time is bounded. So they delay neither the operator's relays nor a push.
struct RelayConnector: Sendable {
    private let tls: NIOSSLContext
    private let addressGuard: AddressGuard
    private let limits: ConnectionLimits
    /// The threads that resolve names chosen by users. Slow look-ups do not block others.
    private let threads: NIOThreadPool

    /// `caFile` holds additional roots in PEM. Throws NIOSSL's errors if it cannot be read.
    init(caFile: String?, addressGuard: AddressGuard, limits: ConnectionLimits, threads: NIOThreadPool) throws {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["http/1.1"]
        if let caFile { configuration.additionalTrustRoots = [.file(caFile)] }
        self.tls = try NIOSSLContext(configuration: configuration)
        self.addressGuard = addressGuard
        self.limits = limits
        self.threads = threads
        FrameRules.instantiateDecoders()
    }

    /// Connects to `url` after resolving its name again; if guarded, only to addresses that the guard permits. The wire
    /// is not read before the future's callbacks have run. Fails with a ``ConnectionError``.
    func connect(
        to url: RelayURL,
        isGuarded: Bool,
        on loop: any EventLoop
    ) -> EventLoopFuture<NIOLoopBound<RelayWire>> {
        let origin = url.origin
        if isGuarded, let address = origin.address, !addressGuard.permits(address) {
            return loop.makeFailedFuture(ConnectionError.forbiddenAddress)
        }
        let end = loop.now + .milliseconds(limits.handshake.milliseconds)
        let resolver = GuardedResolver(
            loop: loop,
            addressGuard: isGuarded ? addressGuard : nil,
            threads: isGuarded ? threads : .singleton
        )
        return ClientBootstrap(group: loop)
            .resolver(resolver)
            .connectTimeout(.milliseconds(limits.handshake.milliseconds))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .connect(host: origin.host, port: Int(origin.port))
            .flatMap { channel in
                // Schedule this only now: during the address race there are several channels.
                let deadline = loop.scheduleTask(deadline: end) {
                    channel.pipeline.fireErrorCaught(ConnectionError.timeout)
                }
                return performHandshake(with: url, over: channel).always { result in
                    deadline.cancel()
                    if case .failure = result { channel.close(promise: nil) }
                }
            }
            .flatMapErrorThrowing { throw Self.failure(of: $0) }
    }

    private func performHandshake(
        with url: RelayURL,
        over channel: any Channel
    ) -> EventLoopFuture<NIOLoopBound<RelayWire>> {
        do {
            let pipeline = channel.pipeline.syncOperations
            if url.origin.isSecure {
                let name = url.origin.address == nil ? url.origin.host : nil
                try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: name))
            }
            var head = HTTPRequestHead(version: .http1_1, method: .GET, uri: url.target)
            head.headers = ["host": url.origin.authority, "user-agent": "Carillon"]
            var configuration = NIOUpgradableHTTPClientPipelineConfiguration(
                upgradeConfiguration: NIOTypedHTTPClientUpgradeConfiguration(
                    upgradeRequestHead: head,
                    upgraders: [upgrader],
                    notUpgradingCompletionHandler: { $0.eventLoop.makeFailedFuture(ConnectionError.notWebSocket) }
                )
            )
            // A challenge may arrive in one segment with the upgrade response.
            configuration.leftOverBytesStrategy = .forwardBytes
            return try pipeline.configureUpgradableHTTPClientPipeline(configuration: configuration)
        } catch {
            return channel.eventLoop.makeFailedFuture(error)
        }
    }

    private var upgrader: NIOTypedWebSocketClientUpgrader<NIOLoopBound<RelayWire>> {
        NIOTypedWebSocketClientUpgrader(
            maxFrameSize: limits.messageBytes.bytes,
            enableAutomaticErrorHandling: false,
            upgradePipelineHandler: { channel, _ in
                channel.eventLoop.makeCompletedFuture {
                    let wire = RelayWire(limits: limits, now: channel.eventLoop.time)
                    let bytes = limits.messageBytes.bytes
                    let rules = FrameRules.handlers(for: .server, fragments: 4_096, messageBytes: bytes)
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandlers(rules + [wire])
                    let decoder = try pipeline.handler(type: ByteToMessageHandler<WebSocketFrameDecoder>.self)
                    let shortcut = FrameShortcut(limits, wire: wire)
                    try pipeline.addHandler(shortcut, position: .before(decoder))
                    return NIOLoopBound(wire, eventLoop: channel.eventLoop)
                }
            }
        )
    }

    private static func failure(of error: any Error) -> ConnectionError {
        switch error {
        case let failure as ConnectionError: failure
        case let error as NIOConnectionError: failure(of: error)
        case ChannelError.connectTimeout: .timeout
        case NIOSSLError.uncleanShutdown, NIOSSLError.handshakeFailed(.syscallError), is ChannelError, is IOError:
            .closed
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError: .tls
        default: .notWebSocket
        }
    }

    private static func failure(of error: NIOConnectionError) -> ConnectionError {
        guard error.connectionErrors.isEmpty, let cause = (error.dnsAError ?? error.dnsAAAAError) as? HTTPError else {
            return .unreachable
        }
        return cause.reason == .forbiddenAddress ? .forbiddenAddress : .unresolved
    }
}

/// Passes texts from the received bytes directly to a ``RelayWire``, and all other bytes to the next handlers.
final class FrameShortcut: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private var cutter: FrameCutter
    private let wire: RelayWire

    init(_ limits: ConnectionLimits, wire: RelayWire) {
        cutter = FrameCutter(messageBytes: limits.messageBytes.bytes, bytesPassed: limits.bytesPassed.bytes)
        self.wire = wire
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        cutter.add(unwrapInboundIn(data))
        while let piece = cutter.next() {
            switch piece {
            case .text(let text): wire.received(text)
            case .tooLong: wire.passes(isNew: true)
            case .frame(let bytes), .undivided(let bytes): context.fireChannelRead(wrapInboundOut(bytes))
            case .broken(let failure): wire.fail(failure)
            }
        }
        if cutter.isPassing { wire.passes(isNew: false) }
    }
}
