import Logging
import NIOCore
import NIOPosix
import NIOSSL
import Units

/// Opens the channels of connections.
protocol Connector: Sendable {
    /// Opens a channel and ends its pipeline with a `ConnectionHandler` for `connection`, all on `loop`. Fails with an
    /// `HTTPFailure` when no channel could be made; the connection itself receives the channel's later events.
    ///
    /// - Parameters:
    ///   - connection: Receives the channel's bytes.
    ///   - route: The destination; its name is looked up anew.
    ///   - timeout: For the connection.
    ///   - loop: The connection's event loop.
    /// - Returns: Nothing, once connected.
    func connect(
        _ connection: NIOLoopBound<HTTP2Connection>,
        along route: ConnectionRoute,
        timeout: Duration,
        on loop: any EventLoop
    ) -> EventLoopFuture<Void>
}

/// Opens channels over TCP and TLS (1.2 at least, certificates checked, ALPN offering `h2`), through a proxy if there
/// is one.
struct TLSConnector: Connector {
    private let tls: TLSConfiguration
    private let sharedContext: NIOSSLContext
    private let addressGuard: AddressGuard
    private let tunnel: ProxyTunnel?
    private let names: NameLookups

    /// - Parameters:
    ///   - caFile: More roots in PEM, besides the system's.
    ///   - addressGuard: For guarded origins.
    ///   - tunnel: The way through a proxy, which then judges where guarded names lead.
    ///   - names: Looks names up, anew for every connection.
    /// - Throws: NIOSSL's errors when the file cannot be read.
    init(caFile: String?, addressGuard: AddressGuard, tunnel: ProxyTunnel?, names: NameLookups) throws {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        // Lets a server without h2 choose rather than hang up, so that its requests can go another way.
        configuration.applicationProtocols = ["h2", "http/1.1"]
        if let caFile { configuration.additionalTrustRoots = [.file(caFile)] }
        tls = configuration
        sharedContext = try NIOSSLContext(configuration: configuration)
        self.addressGuard = addressGuard
        self.tunnel = tunnel
        self.names = names
    }

    func connect(
        _ connection: NIOLoopBound<HTTP2Connection>,
        along route: ConnectionRoute,
        timeout: Duration,
        on loop: any EventLoop
    ) -> EventLoopFuture<Void> {
        let timeout = TimeAmount(timeout)
        let end = loop.now + timeout
        let origin = route.origin
        guard let context = context(of: route.scope) else {
            return loop.makeFailedFuture(HTTPFailure(.tls, mayHaveBeenProcessed: false))
        }
        let checksAddresses = route.isGuarded && tunnel == nil
        let resolver = GuardedResolver(
            loop: loop,
            addressGuard: checksAddresses ? addressGuard : nil,
            names: checksAddresses ? names.users : names.operators
        )
        return ClientBootstrap(group: loop)
            .resolver(resolver)
            .connectTimeout(timeout)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .connect(host: tunnel?.proxy.host ?? origin.host, port: tunnel?.proxy.port ?? Int(origin.port))
            .flatMap { channel in
                tunnel?.dig(through: channel, to: origin, deadline: end).map { channel }
                    ?? loop.makeSucceededFuture(channel)
            }
            .flatMapThrowing { channel in
                // Only now: there are several channels while addresses race, and one of them wins.
                let name = origin.address == nil ? origin.host : nil
                try channel.pipeline.syncOperations.addHandlers([
                    NIOSSLClientHandler(context: context, serverHostname: name),
                    ConnectionHandler(connection: connection.value),
                ])
            }
            .flatMapErrorThrowing { throw Self.failure(of: $0) }
    }

    /// Nil when the scope's certificate and key do not belong together.
    private func context(of scope: ConnectionScope?) -> NIOSSLContext? {
        guard let scope, let certificate = scope.clientCertificate else { return sharedContext }
        return scope.tlsContext {
            var configuration = tls
            configuration.certificateChain = certificate.chain
            configuration.privateKey = certificate.key
            return try? NIOSSLContext(configuration: configuration)
        }
    }

    private static func failure(of error: any Error) -> HTTPFailure {
        if let failure = error as? HTTPFailure { return failure }
        guard let error = error as? NIOConnectionError else {
            return HTTPFailure(error is NIOSSLExtraError ? .tls : .unreachable, mayHaveBeenProcessed: false)
        }
        if error.connectionErrors.isEmpty, let cause = (error.dnsAError ?? error.dnsAAAAError) as? HTTPFailure {
            return cause
        }
        return HTTPFailure(.unreachable, mayHaveBeenProcessed: false)
    }
}

/// Where connections lead, and who may use them: requests of different routes never share one.
struct ConnectionRoute: Hashable, Sendable {
    var origin: Origin
    /// Whether addresses are checked: users' URLs may lead to fewer of them than the operator's.
    var isGuarded: Bool
    var scope: ConnectionScope?
}

extension ConnectionRoute {
    init(_ exchange: Exchange) {
        origin = exchange.url.origin
        isGuarded = exchange.request.untrustedURL
        scope = exchange.request.scope
    }

    /// Whether it is the route of this request.
    func carries(_ exchange: Exchange) -> Bool {
        scope === exchange.request.scope && isGuarded == exchange.request.untrustedURL && origin == exchange.url.origin
    }
}
