import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL

/// A listener of the lab. The two versions of HTTP differ in the handlers of a connection.
protocol LabServer: Sendable {
    /// `http` or `https`.
    var scheme: String { get }
    var connections: Connections { get }

    /// Adds the handlers of a new connection; `number` is its number.
    func configure(_ handlers: ChannelPipeline.SynchronousOperations, number: Int) throws
}

extension LabServer {
    func start(host: String, port: Int, on group: any EventLoopGroup) async throws -> any Channel {
        // Swift's runtime (6.3.1) sometimes crashes when several threads first use this generic type at the same time.
        withExtendedLifetime(ByteToMessageHandler(HTTPRequestDecoder())) {}
        return try await ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try configure(channel.pipeline.syncOperations, number: connections.add(channel))
                }
            }
            .bind(host: host, port: port).get()
    }
}

/// HTTP/1.1, over TLS if there is a context.
struct HTTP1Server: LabServer {
    let connections: Connections
    let tls: NIOSSLContext?
    let decide: HTTP1Connection.Decide

    var scheme: String { tls == nil ? "http" : "https" }

    func configure(_ handlers: ChannelPipeline.SynchronousOperations, number: Int) throws {
        if let tls {
            try handlers.addHandler(NIOSSLServerHandler(context: tls))
        }
        try handlers.configureHTTPServerPipeline(withErrorHandling: true)
        try handlers.addHandler(HTTP1Connection(number: number, decide: decide))
    }
}

/// HTTP/2 over TLS.
struct HTTP2Server: LabServer {
    let connections: Connections
    let tls: NIOSSLContext
    /// SETTINGS_MAX_CONCURRENT_STREAMS of a new connection.
    let streams: Int
    /// Reads the certificates of clients; nil: none is requested.
    var certificates: ClientCertificateReader?
    /// Makes the responder of a connection.
    let makeResponder: @Sendable (HTTP2Peer) -> any HTTP2Responder

    var scheme: String { "https" }

    func configure(_ handlers: ChannelPipeline.SynchronousOperations, number: Int) throws {
        let peer = HTTP2Peer()
        try handlers.addHandler(tlsHandler(for: peer))
        try handlers.addHandler(
            NIOHTTP2Handler(
                mode: .server,
                connectionConfiguration: connectionConfiguration,
                streamConfiguration: streamConfiguration
            )
        )
        try handlers.addHandler(HTTP2Connection(number: number, responder: makeResponder(peer), streams: streams))
    }

    private func tlsHandler(for peer: HTTP2Peer) -> NIOSSLServerHandler {
        guard let certificates else { return NIOSSLServerHandler(context: tls) }
        // Every certificate is accepted here; responses report its problems.
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
        // A client that opened streams before it knew the limit still sends frames on refused streams.
        connection.maximumRecentlyResetStreams = 10_000
        connection.maximumConnectionGlitches = 100_000
        return connection
    }

    // A test client may reset more streams than a server on the internet would accept.
    private var streamConfiguration: NIOHTTP2Handler.StreamConfiguration {
        var stream = NIOHTTP2Handler.StreamConfiguration()
        stream.streamResetFrameRateLimit.maximumCount = 100_000
        stream.streamErrorRateLimit.maximumCount = 100_000
        return stream
    }
}
