import NIOCore
import NIOPosix
import NIOSSL

/// Connects lanes over TCP and TLS (1.2 at least, certificates checked, ALPN offering `h2`).
struct LaneConnector: LaneConnecting {
    private let tls: NIOSSLContext
    private let addressGuard: AddressGuard

    /// - Parameters:
    ///   - caFile: More roots in PEM, besides the system's.
    ///   - addressGuard: For guarded origins.
    /// - Throws: NIOSSL's errors when the file cannot be read.
    init(caFile: String?, addressGuard: AddressGuard) throws {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        // A server that knows no h2 shall choose, not hang up, so that its requests can go another way.
        configuration.applicationProtocols = ["h2", "http/1.1"]
        if let caFile { configuration.additionalTrustRoots = [.file(caFile)] }
        self.tls = try NIOSSLContext(configuration: configuration)
        self.addressGuard = addressGuard
    }

    func connect(
        _ lane: NIOLoopBound<Lane>,
        to origin: Origin,
        isGuarded: Bool,
        timeout: Int64,
        on loop: any EventLoop
    ) -> EventLoopFuture<Void> {
        let resolver = GuardedResolver(loop: loop, addressGuard: isGuarded ? addressGuard : nil)
        return ClientBootstrap(group: loop)
            .resolver(resolver)
            .connectTimeout(.milliseconds(timeout))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .connect(host: origin.host, port: Int(origin.port))
            .flatMapThrowing { channel in
                // Only now: while addresses race there are several channels, of which one wins.
                let name = origin.address == nil ? origin.host : nil
                try channel.pipeline.syncOperations.addHandlers([
                    NIOSSLClientHandler(context: tls, serverHostname: name), LaneHandler(lane: lane.value),
                ])
            }
            .flatMapErrorThrowing { throw Self.failure(of: $0) }
    }

    private static func failure(of error: any Error) -> HTTPFailure {
        guard let error = error as? NIOConnectionError else {
            return HTTPFailure(error is NIOSSLExtraError ? .tls : .unreachable, mayHaveBeenProcessed: false)
        }
        if error.connectionErrors.isEmpty, let cause = (error.dnsAError ?? error.dnsAAAAError) as? HTTPFailure {
            return cause
        }
        return HTTPFailure(.unreachable, mayHaveBeenProcessed: false)
    }
}
