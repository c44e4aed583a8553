import NIOCore
import NIOSSL
import NIOTLS

/// The end of a lane's channel pipeline, behind TLS: carries bytes and events to its `Lane` and frames back.
final class LaneHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let lane: Lane
    private var context: ChannelHandlerContext?
    private var buffer = ByteBuffer()

    init(lane: Lane) {
        self.lane = lane
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        buffer = context.channel.allocator.buffer(capacity: 2 * LaneHandler.pieceSize)
        lane.attach(self)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        lane.channelClosed()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted(let negotiated)? = event as? TLSUserEvent {
            lane.handshakeCompleted(negotiated: negotiated)
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        unwrapInboundIn(data).withUnsafeReadableBytes { lane.received($0) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        lane.readCompleted()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { lane.flush() }
    }

    func channelInactive(context: ChannelHandlerContext) {
        lane.channelClosed()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        lane.failed(TLSFlaw(error, in: context).reason)
        context.close(promise: nil)
    }

    /// Sends what `session` has, in pieces that let the peer begin before the last one is made, as long as the channel
    /// takes them.
    func send(_ session: HTTP2Session) {
        guard let context else { return }
        var more = true
        while more, context.channel.isWritable {
            buffer.clear()
            more = session.pump(into: &buffer, upTo: LaneHandler.pieceSize)
            guard buffer.readableBytes > 0 else { return }
            context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
        }
    }

    func close() {
        context?.close(promise: nil)
    }

    /// One TLS record's worth.
    private static let pieceSize = 16_384
}
