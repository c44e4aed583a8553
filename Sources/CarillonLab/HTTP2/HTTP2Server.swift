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
    /// A desk for each connection, by its number.
    let makeDesk: @Sendable (Int) -> any HTTP2Desk

    func start(host: String, port: Int, on group: any EventLoopGroup) async throws -> any Channel {
        try await ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handlers = channel.pipeline.syncOperations
                    try handlers.addHandler(NIOSSLServerHandler(context: tls))
                    try handlers.addHandler(
                        NIOHTTP2Handler(
                            mode: .server,
                            connectionConfiguration: connectionConfiguration,
                            streamConfiguration: streamConfiguration
                        )
                    )
                    try handlers.addHandler(
                        HTTP2Connection(desk: makeDesk(connections.add(channel)), streams: streams)
                    )
                }
            }
            .bind(host: host, port: port).get()
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
