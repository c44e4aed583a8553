import NIOCore
import NIOEmbedded
import Testing

@testable import Listening

struct UnreadAnswersGuardTests {
    private let channel = EmbeddedChannel(handler: UnreadAnswersGuard(patience: .seconds(30)))

    init() throws {
        try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 80)).wait()
    }

    private func become(writable: Bool) {
        channel.isWritable = writable
        channel.pipeline.fireChannelWritabilityChanged()
    }

    @Test func whoDoesNotReadIsLeft() {
        become(writable: false)
        channel.embeddedEventLoop.advanceTime(by: .seconds(29))
        #expect(channel.isActive)
        channel.embeddedEventLoop.advanceTime(by: .seconds(1))
        #expect(!channel.isActive)
    }

    @Test func whoReadsSlowlyIsNot() {
        for _ in 0..<10 {
            become(writable: false)
            channel.embeddedEventLoop.advanceTime(by: .seconds(29))
            become(writable: true)
            channel.embeddedEventLoop.advanceTime(by: .seconds(60))
        }
        #expect(channel.isActive)
    }
}
