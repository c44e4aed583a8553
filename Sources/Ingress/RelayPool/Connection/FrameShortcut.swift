import NIOCore
import Units

/// Hands texts to a ``RelayWire`` straight from what was read, and leaves everything else to the handlers behind this
/// one.
final class FrameShortcut: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private var cutter: FrameCutter
    private let wire: RelayWire

    init(_ limits: ConnectionLimits, wire: RelayWire) {
        cutter = FrameCutter(messageBytes: limits.messageBytes.bytes, bytesPassed: limits.bytesPassed.bytes)
        self.wire = wire
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        cutter.add(unwrapInboundIn(data))
        while let piece = cutter.next() {
            switch piece {
            case .text(let text): wire.received(text)
            case .tooLong: wire.passes(isNew: true)
            case .frame(let bytes), .undivided(let bytes): context.fireChannelRead(wrapInboundOut(bytes))
            case .broken(let failure): wire.fail(failure)
            }
        }
        if cutter.isPassing { wire.passes(isNew: false) }
    }
}
