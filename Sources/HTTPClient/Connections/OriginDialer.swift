import Core
import Logging
import NIOCore
import NIOPosix
import NIOSSL

/// Connects to origins over TCP, through a proxy if there is one, and sets up TLS.
package struct OriginDialer: Sendable {
    private let tls: TLSConfiguration
    package let context: NIOSSLContext
    let addressGuard: AddressGuard
    let hasProxy: Bool
    private let tunnel: ProxyTunnel?
    private let names: NameLookups

    /// - Parameters:
    ///   - configuration: Roots, exceptions of the address guard, proxy.
    ///   - names: Resolves names, once for each connection.
    ///   - logger: Logs about the proxy.
    ///   - change: Adjusts the TLS configuration.
    /// - Throws: ``HTTPLanesError`` if a file, the proxy or an address block is invalid.
    package init(
        _ configuration: HTTPLanes.Configuration,
        names: NameLookups = NameLookups(),
        logger: Logger,
        _ change: (inout TLSConfiguration) -> Void
    ) throws {
        addressGuard = try AddressGuard(allowing: configuration.allowPrivate)
        let proxy = try configuration.proxy.map { url in
            guard let proxy = Proxy(url) else { throw HTTPLanesError.notAProxy }
            return proxy
        }
        hasProxy = proxy != nil
        tunnel = proxy.flatMap { $0.canTunnel ? ProxyTunnel(proxy: $0, log: logger) : nil }
        self.names = names
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let file = configuration.caFile { tls.additionalTrustRoots = [.file(file)] }
        change(&tls)
        self.tls = tls
        do {
            context = try NIOSSLContext(configuration: tls)
        } catch {
            throw HTTPLanesError.unusableRoots(configuration.caFile ?? "the system's")
        }
    }

    /// Whether connections can be made: all traffic must use the proxy, so it must support tunnels.
    package var canDial: Bool { !hasProxy || tunnel != nil }

    /// Connects to `origin`; if guarded, only to addresses that the address guard permits. A proxy resolves and checks
    /// names itself. `prepare` gets the connected channel before the CONNECT request.
    package func dial(
        _ origin: Origin,
        isGuarded: Bool,
        timeout: Duration,
        on loop: any EventLoop,
        options: (ClientBootstrap) -> ClientBootstrap = { $0 },
        _ prepare: @escaping @Sendable (any Channel) throws -> Void = { _ in }
    ) -> EventLoopFuture<any Channel> {
        if isGuarded, let address = origin.address, !addressGuard.permits(address) {
            return loop.makeFailedFuture(HTTPError(.forbiddenAddress, mayHaveBeenProcessed: false))
        }
        let timeout = TimeAmount(timeout)
        let deadline = loop.now + timeout
        let checksAddresses = isGuarded && tunnel == nil
        let resolver = GuardedResolver(
            loop: loop,
            addressGuard: checksAddresses ? addressGuard : nil,
            lookUp: checksAddresses ? names.users : names.operators
        )
        let bootstrap = ClientBootstrap(group: loop)
            .resolver(resolver)
            .connectTimeout(timeout)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
        return options(bootstrap)
            .connect(host: tunnel?.proxy.host ?? origin.host, port: tunnel?.proxy.port ?? Int(origin.port))
            .flatMapThrowing { channel in
                try prepare(channel)
                return channel
            }
            .flatMap { channel in
                tunnel?.dig(through: channel, to: origin, deadline: deadline).map { channel }
                    ?? loop.makeSucceededFuture(channel)
            }
    }

    /// A TLS client handler for `origin`.
    package func tlsHandler(for origin: Origin, _ context: NIOSSLContext) throws -> NIOSSLClientHandler {
        try NIOSSLClientHandler(context: context, serverHostname: origin.address == nil ? origin.host : nil)
    }

    /// Another context, such as one with a certificate.
    package func context(_ change: (inout TLSConfiguration) throws -> Void) throws -> NIOSSLContext {
        var tls = tls
        try change(&tls)
        return try NIOSSLContext(configuration: tls)
    }
}

extension OriginDialer {
    /// Opens a channel over TCP and TLS (1.2 or later, certificates checked, ALPN offering `h2`) for a connection; see
    /// ``OriginConnections/PoolContext/connect``.
    func connect(
        _ connection: NIOLoopBound<HTTP2Connection>,
        _ route: ConnectionRoute,
        _ timeout: Duration,
        _ loop: any EventLoop
    ) -> EventLoopFuture<Void> {
        guard let context = context(of: route.scope) else {
            return loop.makeFailedFuture(HTTPError(.tls, mayHaveBeenProcessed: false))
        }
        return dial(route.origin, isGuarded: route.isGuarded, timeout: timeout, on: loop)
            .flatMapThrowing { channel in
                // Added only to the winner of several channels that race to different addresses.
                try channel.pipeline.syncOperations.addHandlers([
                    tlsHandler(for: route.origin, context),
                    ConnectionHandler(connection: connection.value),
                ])
            }
            .flatMapErrorThrowing { throw Self.failure(of: $0) }
    }

    /// Nil if the scope's certificate and key do not match.
    private func context(of scope: ConnectionScope?) -> NIOSSLContext? {
        guard let scope, let certificate = scope.clientCertificate else { return self.context }
        return scope.tlsContext {
            try? self.context { tls in
                tls.certificateChain = certificate.chain
                tls.privateKey = certificate.key
            }
        }
    }

    private static func failure(of error: any Error) -> HTTPError {
        if let failure = error as? HTTPError { return failure }
        guard let error = error as? NIOConnectionError else {
            return HTTPError(error is NIOSSLExtraError ? .tls : .unreachable, mayHaveBeenProcessed: false)
        }
        if error.connectionErrors.isEmpty, let cause = (error.dnsAError ?? error.dnsAAAAError) as? HTTPError {
            return cause
        }
        return HTTPError(.unreachable, mayHaveBeenProcessed: false)
    }
}

/// The destination of connections and their users: requests of different routes never share one.
struct ConnectionRoute: Hashable, Sendable {
    var origin: Origin
    /// Whether addresses are checked: users' URLs may reach fewer of them than the operator's.
    var isGuarded: Bool
    var scope: ConnectionScope?
}

extension ConnectionRoute {
    init(_ exchange: Exchange) {
        origin = exchange.url.origin
        isGuarded = exchange.request.untrustedURL
        scope = exchange.request.scope
    }
}
