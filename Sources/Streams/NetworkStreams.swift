import HTTPLanes
import Logging
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization
import Units

/// Streams over the network, with what the operator has configured for outgoing HTTP: roots, address guard, proxy.
///
/// Only a proxy that tunnels by CONNECT carries them. Through another one nothing is reached, as nothing may go around
/// it.
package final class NetworkStreams: StreamConnector {
    private let dialer: Dialer
    private let gate: RequestGate?
    private let group: any EventLoopGroup

    /// - Parameters:
    ///   - configuration: Roots, exceptions of the address guard, proxy, and the gate. A stream that is to send while
    ///     the gate is closed ends as if its connection broke.
    ///   - group: Carries the connections; must outlive them.
    ///   - logger: Logs about the proxy.
    /// - Throws: `HTTPLanesError` when the roots, the proxy or a block of addresses cannot be used.
    package init(configuration: HTTPLanes.Configuration, group: any EventLoopGroup, logger: Logger) throws {
        dialer = try Dialer(configuration, logger)
        gate = configuration.gate
        self.group = group
    }

    package func stream(to target: StreamTarget, _ receiver: any StreamReceiver) -> any StreamConnection {
        NIOStream(target, receiver, dialer: dialer, gate: gate, loop: group.next())
    }
}

/// Connects to the targets of streams.
private struct Dialer: StreamDialer {
    private let tls: TLSConfiguration
    private let context: NIOSSLContext
    private let addressGuard: AddressGuard
    private let proxy: Proxy?
    private let tunnel: ProxyTunnel?
    private let names = NameLookups()

    init(_ configuration: HTTPLanes.Configuration, _ logger: Logger) throws {
        addressGuard = try AddressGuard(allowing: configuration.allowPrivate)
        proxy = try configuration.proxy.map { url in
            guard let proxy = Proxy(url) else { throw HTTPLanesError.notAProxy }
            return proxy
        }
        tunnel = proxy.flatMap { $0.canTunnel ? ProxyTunnel(proxy: $0, log: logger) : nil }
        if proxy != nil, tunnel == nil {
            logger.info("Streams of plugins reach nothing: they go only through a proxy with the scheme http")
        }
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        // How long the other side may take to agree to the end.
        tls.shutdownTimeout = .seconds(1)
        if let file = configuration.caFile { tls.additionalTrustRoots = [.file(file)] }
        self.tls = tls
        do {
            context = try NIOSSLContext(configuration: tls)
        } catch {
            throw HTTPLanesError.unusableRoots(configuration.caFile ?? "the system's")
        }
    }

    func dial(_ target: StreamTarget, for stream: NIOStream, on loop: any EventLoop) -> EventLoopFuture<Void> {
        guard let origin = Origin(host: target.host, port: target.port) else { return loop.failed(.unresolved) }
        guard proxy == nil || tunnel != nil else { return loop.failed(.unreachable) }
        if target.isUntrusted, let address = origin.address, !addressGuard.permits(address) {
            return loop.failed(.forbiddenAddress)
        }
        let timeout = TimeAmount(target.connectTimeout)
        let deadline = loop.now + timeout
        let isGuarded = target.isUntrusted && tunnel == nil
        let resolver = GuardedResolver(
            loop: loop,
            addressGuard: isGuarded ? addressGuard : nil,
            names: isGuarded ? names.users : names.operators
        )
        return ClientBootstrap(group: loop)
            .resolver(resolver)
            .connectTimeout(timeout)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            // What the plugin does not take stays here, or with the sender.
            .channelOption(.socketOption(.so_rcvbuf), value: 256 << 10)
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: NIOStream.pieceSize))
            .connect(host: tunnel?.proxy.host ?? origin.host, port: tunnel?.proxy.port ?? Int(origin.port))
            .flatMap { channel in
                do {
                    // Only now: there are several channels while addresses race, and one of them wins. Before the
                    // tunnel is dug, as the server's first words may come with the proxy's last.
                    try channel.pipeline.syncOperations.addHandler(stream)
                } catch {
                    return loop.makeFailedFuture(error)
                }
                let dug = tunnel?.dig(through: channel, to: origin, deadline: deadline)
                return (dug ?? loop.makeSucceededVoidFuture()).flatMapThrowing { try stream.takeOver(channel) }
            }
    }

    func tlsHandler(for target: StreamTarget) throws -> any ChannelHandler {
        let origin = Origin(host: target.host, port: target.port)
        let name = origin?.address == nil ? origin?.host : nil
        return try NIOSSLClientHandler(context: try context(for: target), serverHostname: name)
    }

    private func context(for target: StreamTarget) throws -> NIOSSLContext {
        guard !target.authorities.isEmpty else { return context }
        var own = tls
        own.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(target.authorities))
        own.additionalTrustRoots = []
        return try NIOSSLContext(configuration: own)
    }
}

extension EventLoop {
    fileprivate func failed(_ reason: HTTPFailure.Reason) -> EventLoopFuture<Void> {
        makeFailedFuture(HTTPFailure(reason, mayHaveBeenProcessed: false))
    }
}
