import Glibc
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// The other side of streams: a server on loopback, at a port that the system chose.
package final class StreamPeer: Sendable {
    /// The peer's behavior on a connection.
    package enum Manner: Sendable {
        /// Sends back what it receives.
        case echo
        case silent
        /// Sends `bye` and closes.
        case goodbye
        /// Breaks the connection with the first bytes.
        case reset
        /// Sends `220 ready`; answers `STARTTLS` with `go`, then starts TLS and echoes.
        case startTLS
        /// The same, but continues unencrypted.
        case injection
        /// Treats the first bytes as a CONNECT request to a proxy; the server after it greets immediately, and echoes.
        case tunnel
        /// Sends this number of bytes without a request.
        case flood(Int)
    }

    /// The connections and bytes seen so far.
    private struct State {
        var received: [UInt8] = []
        var open = 0
        var seen = 0
    }

    private let channel: any Channel
    private let state = Mutex(State())

    /// `identity`: with TLS from the first byte, but for ``Manner/startTLS``.
    package init(_ manner: Manner, _ identity: TestIdentity? = nil) throws {
        let context = try identity?.serverContext()
        let box = WeakPeer()
        channel = try ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let context, !manner.beginsInTheClear {
                        try pipeline.addHandler(NIOSSLServerHandler(context: context))
                    }
                    try pipeline.addHandler(PeerHandler(manner, context, box))
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .wait()
        box.peer.withLock { $0.peer = self }
    }

    deinit { channel.close(promise: nil) }

    package var port: UInt16 { UInt16(channel.localAddress?.port ?? 0) }
    /// All that it received, on all connections.
    package var received: [UInt8] { state.withLock(\.received) }
    package var text: String { String(decoding: received, as: UTF8.self) }
    /// The connections that are open.
    package var open: Int { state.withLock(\.open) }
    /// All connections so far.
    package var seen: Int { state.withLock(\.seen) }

    fileprivate func note(_ bytes: [UInt8]) { state.withLock { $0.received += bytes } }

    fileprivate func note(isOpen: Bool) {
        state.withLock { state in
            state.open += isOpen ? 1 : -1
            if isOpen { state.seen += 1 }
        }
    }
}

extension StreamPeer.Manner {
    fileprivate var beginsInTheClear: Bool {
        switch self {
        case .startTLS, .injection: true
        default: false
        }
    }
}

/// Gives handlers a weak reference to the peer.
private final class WeakPeer: Sendable {
    struct Reference {
        weak var peer: StreamPeer?
    }

    let peer = Mutex(Reference())
    var value: StreamPeer? { peer.withLock(\.peer) }
}

/// One connection of a peer.
private final class PeerHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let manner: StreamPeer.Manner
    private let context: NIOSSLContext?
    private let peer: WeakPeer
    private var isSecure = false
    private var isDug = false

    init(_ manner: StreamPeer.Manner, _ context: NIOSSLContext?, _ peer: WeakPeer) {
        self.manner = manner
        self.context = context
        self.peer = peer
    }

    private func say(_ text: String, _ context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
    }

    func channelActive(context: ChannelHandlerContext) {
        peer.value?.note(isOpen: true)
        switch manner {
        case .startTLS, .injection: say("220 ready\n", context)
        case .goodbye:
            say("bye\n", context)
            context.close(promise: nil)
        case .flood(let count):
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(repeating: 7, count: count)), promise: nil)
        case .echo, .silent, .reset, .tunnel: break
        }
    }

    func channelInactive(context: ChannelHandlerContext) { peer.value?.note(isOpen: false) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = unwrapInboundIn(data)
        peer.value?.note(Array(buffer: buffer))
        switch manner {
        case .echo: context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
        case .silent, .goodbye, .flood: break
        case .reset:
            _ = (context.channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
            context.close(promise: nil)
        case .tunnel where !isDug:
            isDug = true
            say("HTTP/1.1 200 Connection established\r\n\r\n220 ready\n", context)
        case .tunnel: context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
        case .startTLS, .injection: converse(String(buffer: buffer), context)
        }
    }

    private func converse(_ text: String, _ context: ChannelHandlerContext) {
        if isSecure { return say(text, context) }
        guard text == "STARTTLS\n" else { return say("EVIL\n", context) }
        say("go\n", context)
        guard case .startTLS = manner, let tls = self.context else { return }
        isSecure = true
        try? context.channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls), position: .first)
    }

    func errorCaught(context: ChannelHandlerContext, error _: any Error) { context.close(promise: nil) }
}
