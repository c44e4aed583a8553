import NIOCore

/// Lets the head of a proxy's answer pass, and keeps what follows until it is removed: the first bytes of the origin,
/// which may come in one segment with the answer and which no HTTP decoder can read.
final class AnswerHead: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private static let end: UInt32 = 0x0d0a_0d0a

    private var lastFour: UInt32 = 0
    private var isOver = false
    private var kept: [ByteBuffer] = []

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = unwrapInboundIn(data)
        guard !isOver else { return kept.append(buffer) }
        var length = 0
        for byte in buffer.readableBytesView {
            length += 1
            lastFour = lastFour << 8 | UInt32(byte)
            isOver = lastFour == Self.end
            if isOver { break }
        }
        guard let head = buffer.readSlice(length: length) else { return }
        if buffer.readableBytes > 0 { kept.append(buffer) }
        context.fireChannelRead(wrapInboundOut(head))
    }

    func removeHandler(context: ChannelHandlerContext, removalToken: ChannelHandlerContext.RemovalToken) {
        for buffer in kept { context.fireChannelRead(wrapInboundOut(buffer)) }
        kept = []
        context.leavePipeline(removalToken: removalToken)
    }
}
