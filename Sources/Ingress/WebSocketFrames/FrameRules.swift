package import NIOCore
package import NIOWebSocket

/// Refuses frames that break RFC 6455: whose masks are not those of the side that sent them (section 5.1), and those of
/// extensions that were never agreed on (section 5.2). Reports fragments of messages, which the aggregator hides from
/// later handlers.
package final class FrameRules: ChannelInboundHandler {
    package typealias InboundIn = WebSocketFrame
    package typealias InboundOut = WebSocketFrame

    package enum Sender: Sendable {
        case client
        case server
    }

    /// The other side broke a rule.
    package struct Violation: Error {}

    /// The pipeline event for a frame that further frames of its message follow.
    package struct Fragment: Sendable {}

    private static let opcodes: [WebSocketOpcode] = [.continuation, .text, .binary, .connectionClose, .ping, .pong]

    private let sender: Sender

    private init(sender: Sender) {
        self.sender = sender
    }

    /// The handlers that check the frames of `sender`, and make messages of at most so many fragments and bytes of
    /// them.
    package static func handlers(for sender: Sender, fragments: Int, messageBytes: Int) -> [any ChannelHandler] {
        [
            FrameRules(sender: sender),
            NIOWebSocketFrameAggregator(
                minNonFinalFragmentSize: 0,
                maxAccumulatedFrameCount: fragments,
                maxAccumulatedFrameSize: messageBytes
            ),
        ]
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        guard (frame.maskKey != nil) == (sender == .client), Self.opcodes.contains(frame.opcode),
            !frame.rsv1, !frame.rsv2, !frame.rsv3
        else { return context.fireErrorCaught(Violation()) }
        if !frame.fin { context.fireUserInboundEventTriggered(Fragment()) }
        context.fireChannelRead(data)
    }
}

extension WebSocketErrorCode {
    /// What to close a connection with after an error of its frames; nil where the error is not theirs.
    package init?(closingAfter error: any Error) {
        switch error {
        case NIOWebSocketFrameAggregator.Error.didReceiveFragmentBeforeReceivingTextOrBinaryFrame,
            NIOWebSocketFrameAggregator.Error.receivedNewFrameWithoutFinishingPrevious:
            self = .protocolError
        case is NIOWebSocketFrameAggregator.Error, NIOWebSocketError.invalidFrameLength:
            self = .messageTooLarge
        case is NIOWebSocketError, is FrameRules.Violation:
            self = .protocolError
        default:
            return nil
        }
    }
}
