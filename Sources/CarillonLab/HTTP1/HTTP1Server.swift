import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// Listens for HTTP/1.1, over TLS where it is given a context.
struct HTTP1Server {
    let connections: Connections
    let tls: NIOSSLContext?
    let decide: HTTP1Connection.Decide

    func start(host: String, port: Int, on group: any EventLoopGroup) async throws -> any Channel {
        // Swift's runtime (6.3.1) crashes now and then when several threads need this generic type for the first time at once.
        withExtendedLifetime(ByteToMessageHandler(HTTPRequestDecoder())) {}
        return try await ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handlers = channel.pipeline.syncOperations
                    if let tls {
                        try handlers.addHandler(NIOSSLServerHandler(context: tls))
                    }
                    try handlers.configureHTTPServerPipeline(withErrorHandling: true)
                    try handlers.addHandler(HTTP1Connection(number: connections.add(channel), decide: decide))
                }
            }
            .bind(host: host, port: port).get()
    }
}
