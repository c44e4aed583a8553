import NIOCore
import NIOWebSocket

/// Refuses frames that a server must not send (RFC 6455): masked ones (section 5.1), and those of extensions that were never agreed
/// on (section 5.2).
final class ServerFrameRules: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = WebSocketFrame

    private static let opcodes: [WebSocketOpcode] = [.continuation, .text, .binary, .connectionClose, .ping, .pong]

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        guard frame.maskKey == nil, Self.opcodes.contains(frame.opcode), !frame.rsv1, !frame.rsv2, !frame.rsv3 else {
            return context.fireErrorCaught(ConnectionFailure.protocolError)
        }
        context.fireChannelRead(data)
    }
}
