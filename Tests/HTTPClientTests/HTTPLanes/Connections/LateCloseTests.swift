import NIOCore
import NIOEmbedded
import Testing
import TimeTestSupport

@testable import HTTPClient

/// Connections that end at the worst moments.
struct LateCloseTests {
    /// Closes the channel in the middle of the first write, like a socket whose peer is gone.
    private final class BrokenSocket: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        private(set) var writes = 0

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            writes += 1
            promise?.fail(ChannelError.ioOnClosedChannel)
            context.close(promise: nil)
        }
    }

    private let network = ScriptedNetwork()
    private let answers = Answers()

    @Test func connectionThatBreaksDuringAWriteIsNotWrittenToAgain() throws {
        let origin = try network.origin()
        #expect(origin.post(try #require(answers.exchange(1))))
        network.settle()
        let connection = try #require(network.connections.first)
        let socket = BrokenSocket()
        try connection.channel.pipeline.syncOperations.addHandler(socket, position: .first)

        let body = [UInt8](repeating: 7, count: 20_000)
        for number in 2...9 { #expect(origin.post(try #require(answers.exchange(number, body: body)))) }
        network.loop.run()
        #expect(socket.writes == 1)
        #expect(!connection.channel.isActive)
        #expect((1...9).allSatisfy { answers.failure($0)?.reason == .closed })
        #expect(answers.count == 9)
    }

    @Test func abandonedSessionNeitherSendsNorReceives() throws {
        let session = try #require(HTTP2Session(streamLimit: 100))
        #expect(session.submit(try #require(answers.exchange(1, body: [1, 2, 3])), now: 0))
        session.abandon(.closed)
        var buffer = ByteBuffer()
        #expect(!session.pump(into: &buffer, upTo: .max))
        #expect(buffer.readableBytes == 0)
        let peer = ScriptedPeer()
        peer.settings()
        #expect(!peer.takeOutput().withUnsafeBytes { session.receive($0) })
        #expect(session.takeFinished().count == 1)
    }

    @Test func aChannelThatComesAfterItsLaneGaveUpIsClosedAndFreed() throws {
        let origin = try network.origin()
        weak var freed: HTTP2Connection?
        do {
            let lane = HTTP2Connection(owner: origin, loop: network.loop, settings: ConnectionSettings())
            freed = lane
            lane.close(.unreachable)
            let channel = EmbeddedChannel(loop: network.loop)
            try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 443)).wait()
            try channel.pipeline.syncOperations.addHandler(ConnectionHandler(connection: lane))
            #expect(!channel.isActive)
            network.loop.run()
        }
        #expect(freed == nil)
    }
}
