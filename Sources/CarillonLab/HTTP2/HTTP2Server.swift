import NIOCore
import NIOHTTP2
import NIOPosix
import NIOSSL

/// Listens for HTTP/2 over TLS.
struct HTTP2Server {
    let connections: Connections
    let tls: NIOSSLContext
    /// SETTINGS_MAX_CONCURRENT_STREAMS of a new connection.
    let streams: Int
    /// Reads the certificates that clients show; nil: none is asked for.
    var certificates: ClientCertificateReader?
    /// A desk for each connection.
    let makeDesk: @Sendable (HTTP2Peer) -> any HTTP2Desk

    func start(host: String, port: Int, on group: any EventLoopGroup) async throws -> any Channel {
        try await ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handlers = channel.pipeline.syncOperations
                    let peer = HTTP2Peer(connection: connections.add(channel))
                    try handlers.addHandler(handler(for: peer))
                    try handlers.addHandler(
                        NIOHTTP2Handler(
                            mode: .server,
                            connectionConfiguration: connectionConfiguration,
                            streamConfiguration: streamConfiguration
                        )
                    )
                    try handlers.addHandler(
                        HTTP2Connection(desk: makeDesk(peer), streams: streams)
                    )
                }
            }
            .bind(host: host, port: port).get()
    }

    private func handler(for peer: HTTP2Peer) -> NIOSSLServerHandler {
        guard let certificates else { return NIOSSLServerHandler(context: tls) }
        // Any certificate may come in; what is wrong with it is said in the answers.
        return NIOSSLServerHandler(context: tls) { chain, promise in
            peer.show((try? chain.first?.toDERBytes()).flatMap { $0 }.map(certificates.read))
            promise.succeed(.certificateVerified)
        }
    }

    private var connectionConfiguration: NIOHTTP2Handler.ConnectionConfiguration {
        var connection = NIOHTTP2Handler.ConnectionConfiguration()
        connection.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: streams),
            HTTP2Setting(parameter: .maxHeaderListSize, value: 16_384),
        ]
        connection.controlFrameRateLimit.maximumCount = 100_000
        // A client that opened streams before it knew the limit still sends frames on those that were refused.
        connection.maximumRecentlyResetStreams = 10_000
        connection.maximumConnectionGlitches = 100_000
        return connection
    }

    // A client in a test may reset more streams than a server on the internet would put up with.
    private var streamConfiguration: NIOHTTP2Handler.StreamConfiguration {
        var stream = NIOHTTP2Handler.StreamConfiguration()
        stream.streamResetFrameRateLimit.maximumCount = 100_000
        stream.streamErrorRateLimit.maximumCount = 100_000
        return stream
    }
}
