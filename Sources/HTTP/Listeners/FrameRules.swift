import NIOCore
import NIOHTTP1
import NIOWebSocket

/// Refuses frames that break RFC 6455: wrong masking for the sender's role (section 5.1), or extensions that were not
/// negotiated (section 5.2). Reports message fragments, which the aggregator hides from later handlers.
package final class FrameRules: ChannelInboundHandler {
    package typealias InboundIn = WebSocketFrame
    package typealias InboundOut = WebSocketFrame

    package enum Sender: Sendable {
        case client
        case server
    }

    /// The other side broke a rule.
    package struct Violation: Error {}

    /// The pipeline event for a frame that is not the last of its message.
    package struct Fragment: Sendable {}

    /// Swift's runtime (6.3.1) sometimes crashes when several threads instantiate these generic types for the first
    /// time at the same moment, as event loops do when their first connections open together. So one thread
    /// instantiates them in advance.
    package static func instantiateDecoders() {
        let handlers: [any ChannelHandler] = [
            ByteToMessageHandler(HTTPRequestDecoder()), ByteToMessageHandler(HTTPResponseDecoder()),
            ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: 1_024)),
        ]
        withExtendedLifetime(handlers) {}
    }

    private static let opcodes: [WebSocketOpcode] = [.continuation, .text, .binary, .connectionClose, .ping, .pong]

    private let sender: Sender

    private init(sender: Sender) {
        self.sender = sender
    }

    /// The handlers that check frames of `sender` and aggregate messages, up to `fragments` and `messageBytes` each.
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

/// Refuses frames whose length is not in its shortest encoding (RFC 6455, section 5.2), which the decoder accepts. Add
/// it before the decoder.
package final class FrameLengths: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer

    /// The received part of the next frame's header, up to its length.
    private var header: [UInt8] = []
    /// Outstanding bytes of the current frame, counted from the end of its length field.
    private var left: UInt64 = 0
    private var isBroken = false

    package init() {}

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isBroken else { return }
        let bytes = unwrapInboundIn(data)
        guard let end = bytes.withUnsafeReadableBytes({ endOfGoodFrames(in: $0) }) else {
            return context.fireChannelRead(data)
        }
        isBroken = true
        if end > 0, let good = bytes.getSlice(at: bytes.readerIndex, length: end) {
            context.fireChannelRead(wrapInboundOut(good))
        }
        context.fireErrorCaught(FrameRules.Violation())
    }

    /// The start of the first frame with an overlong length encoding; nil: none.
    private func endOfGoodFrames(in bytes: UnsafeRawBufferPointer) -> Int? {
        var (position, start) = (0, 0)
        while position < bytes.count {
            if left > 0 {
                let step = min(left, UInt64(bytes.count - position))
                left -= step
                position += Int(step)
                continue
            }
            if header.isEmpty { start = position }
            header.append(bytes[position])
            position += 1
            guard header.count >= 2 else { continue }
            let short = header[1] & 0x7F
            let further = short < 126 ? 0 : short == 126 ? 2 : 8
            guard header.count == 2 + further else { continue }
            let length = further == 0 ? UInt64(short) : header[2...].reduce(0) { $0 << 8 | UInt64($1) }
            guard further == 0 || length >= (further == 2 ? 126 : 1 << 16) else { return start }
            // The mask follows. The decoder refuses absurd lengths.
            left = length &+ (header[1] & 0x80 == 0 ? 0 : 4)
            header.removeAll(keepingCapacity: true)
        }
        return nil
    }
}

extension WebSocketErrorCode {
    /// The close code for an error in frames; nil for other errors.
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
