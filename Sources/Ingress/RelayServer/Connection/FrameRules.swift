import NIOCore
import NIOWebSocket

/// Refuses frames that a client must not send (RFC 6455): unmasked ones (section 5.1), and those of extensions that were never
/// agreed on (section 5.2). Tells of the parts of messages, which nobody behind the aggregator sees.
final class FrameRules: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = WebSocketFrame

    private static let opcodes: [WebSocketOpcode] = [.continuation, .text, .binary, .connectionClose, .ping, .pong]

    /// The client broke a rule.
    struct Violation: Error {}

    /// The event that the pipeline behind this is told: a frame came which its message goes on behind.
    struct Fragment: Sendable {}

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        guard frame.maskKey != nil, Self.opcodes.contains(frame.opcode), !frame.rsv1, !frame.rsv2, !frame.rsv3 else {
            return context.fireErrorCaught(Violation())
        }
        if !frame.fin { context.fireUserInboundEventTriggered(Fragment()) }
        context.fireChannelRead(data)
    }
}
