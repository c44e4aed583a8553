import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import NIOTLS
import Testing

@testable import HTTPClient

/// Connections in memory on one embedded loop with a manual clock.
///
/// `@unchecked Sendable`: a test uses it on its one thread.
final class ScriptedNetwork: @unchecked Sendable {
    final class Connection {
        let channel: EmbeddedChannel
        let peer = ScriptedPeer()

        init(loop: EmbeddedEventLoop) {
            channel = EmbeddedChannel(loop: loop)
        }
    }

    let loop = EmbeddedEventLoop()
    private(set) var connections: [Connection] = []
    private(set) var attempts = 0
    /// The error of the next attempts.
    var failure: HTTPError?
    var negotiated: String? = "h2"
    /// Sends a peer's first frames.
    var greets: (ScriptedPeer) -> Void = { $0.settings(maxConcurrentStreams: 100) }
    /// Connections are made, but get no response.
    var isMute = false
    /// While true, no data from a peer arrives.
    var isWithheld = false
    var gate: RequestGate?
    let handedOver = NIOLockedValueBox<[Exchange]>([])

    func connect(
        _ lane: NIOLoopBound<HTTP2Connection>,
        _: ConnectionRoute,
        _: Duration,
        _ loop: any EventLoop
    ) -> EventLoopFuture<Void> {
        attempts += 1
        if let failure { return loop.makeFailedFuture(failure) }
        let connection = Connection(loop: self.loop)
        connections.append(connection)
        do {
            try connection.channel.pipeline.syncOperations.addHandler(ConnectionHandler(connection: lane.value))
            connection.channel.connect(to: try SocketAddress(ipAddress: "192.0.2.1", port: 443), promise: nil)
            guard !isMute else { return loop.makeSucceededVoidFuture() }
            self.greets(connection.peer)
            connection.channel.pipeline.fireUserInboundEventTriggered(
                TLSUserEvent.handshakeCompleted(negotiatedProtocol: self.negotiated)
            )
            return loop.makeSucceededVoidFuture()
        } catch {
            return loop.makeFailedFuture(error)
        }
    }

    func surroundings(_ settings: ConnectionSettings = ConnectionSettings()) -> OriginConnections.PoolContext {
        OriginConnections.PoolContext(
            connect: connect,
            settings: settings,
            jitter: { 1 },
            gate: gate,
            withoutHTTP2: { exchange in self.handedOver.withLockedValue { $0.append(exchange) } }
        )
    }

    func origin(_ settings: ConnectionSettings = ConnectionSettings()) throws -> OriginConnections {
        let url = try #require(URLParts("https://push.example/"))
        return OriginConnections(
            route: ConnectionRoute(origin: url.origin, isGuarded: false),
            loop: loop,
            surroundings: surroundings(settings)
        )
    }

    /// Carries bytes both ways until no side sends more.
    func settle() {
        var moved = true
        while moved {
            moved = false
            loop.run()
            for connection in connections {
                while let buffer = try? connection.channel.readOutbound(as: ByteBuffer.self) {
                    connection.peer.receive(Array(buffer.readableBytesView))
                    moved = true
                }
                guard !isWithheld else { continue }
                let answer = connection.peer.takeOutput()
                if !answer.isEmpty, connection.channel.isActive {
                    _ = try? connection.channel.writeInbound(ByteBuffer(bytes: answer))
                    moved = true
                }
            }
        }
    }

    func pass(_ span: Duration) {
        loop.advanceTime(by: TimeAmount(span))
        settle()
    }
}
