import NIOCore

/// Cuts what a server sends over a WebSocket (RFC 6455) into frames, as far as they are whole. Nearly everything that a
/// relay says is one text in one frame; that leaves here as it is, without a copy. Everything else is for the decoder
/// that knows all rules.
///
/// Pure: bytes in, pieces out.
struct FrameCutter {
    enum Piece: Equatable {
        /// The payload of a frame that is a message by itself.
        case text(ByteBuffer)
        /// Another whole frame, as it came: a control frame, or a part of a message.
        case frame(ByteBuffer)
        /// Bytes that hold a frame that a server must not send, or too long a one. All that follows comes this way.
        case undivided(ByteBuffer)
    }

    private static let finalText: UInt8 = 0x81
    private static let reserved: UInt8 = 0x70
    private static let longestHeader = 10
    /// A frame's header may promise much that never comes.
    private static let reserve = 16 << 10

    private let frameBytes: Int
    private var rest = ByteBuffer()
    /// Whether further frames of a message are to come.
    private var isWithinMessage = false
    private var isUndivided = false

    /// `frameBytes` is how long a frame's payload may be.
    init(frameBytes: Int) {
        self.frameBytes = frameBytes
    }

    /// Takes what was read. Call ``next()`` until there is nothing more.
    mutating func add(_ bytes: ByteBuffer) {
        if rest.readableBytes == 0 {
            rest = bytes
        } else {
            rest.writeImmutableBuffer(bytes)
        }
    }

    /// The next piece; nil when no whole frame is left.
    mutating func next() -> Piece? {
        guard rest.readableBytes > 0 else {
            rest = ByteBuffer()
            return nil
        }
        if isUndivided { return takeEverything() }
        guard let (first, header, length) = header() else { return keep() }
        guard let length, length <= frameBytes, first & Self.reserved == 0 else {
            isUndivided = true
            return takeEverything()
        }
        guard rest.readableBytes >= header + length else { return keep(header + length) }
        if first == Self.finalText, !isWithinMessage {
            rest.moveReaderIndex(forwardBy: header)
            return rest.readSlice(length: length).map { .text($0) }
        }
        // Control frames may come between the parts of a message.
        if first & 0x08 == 0 { isWithinMessage = first & 0x80 == 0 }
        return rest.readSlice(length: header + length).map { .frame($0) }
    }

    /// The first byte of the next frame, and the lengths of its header and payload; no length of a payload where that
    /// is masked or absurd. Nil while the header is not whole.
    private func header() -> (first: UInt8, header: Int, length: Int?)? {
        rest.withUnsafeReadableBytes { bytes in
            guard bytes.count >= 2 else { return nil }
            switch bytes[1] {
            case 126:
                guard bytes.count >= 4 else { return nil }
                return (bytes[0], 4, Int(bytes[2]) << 8 | Int(bytes[3]))
            case 127:
                guard bytes.count >= 10 else { return nil }
                let length = bytes[2..<10].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
                return (bytes[0], 10, Int(exactly: length))
            case let short where short < 126:
                return (bytes[0], 2, Int(short))
            default:
                return (bytes[0], 2, nil)
            }
        }
    }

    private mutating func takeEverything() -> Piece {
        defer { rest = ByteBuffer() }
        return .undivided(rest)
    }

    /// Keeps the beginning of a frame, which will have so many bytes, but not the large buffer that it came in.
    private mutating func keep(_ count: Int = Self.longestHeader) -> Piece? {
        guard rest.readerIndex > 0 || rest.writableBytes == 0 else { return nil }
        var copy = ByteBuffer()
        copy.reserveCapacity(min(count, Self.reserve))
        copy.writeImmutableBuffer(rest)
        rest = copy
        return nil
    }
}

/// Hands texts to a ``RelayWire`` straight from what was read, and leaves everything else to the handlers behind this
/// one.
final class FrameShortcut: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private var cutter: FrameCutter
    private let wire: RelayWire

    init(frameBytes: Int, wire: RelayWire) {
        cutter = FrameCutter(frameBytes: frameBytes)
        self.wire = wire
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        cutter.add(unwrapInboundIn(data))
        while let piece = cutter.next() {
            switch piece {
            case .text(let text): wire.received(text)
            case .frame(let bytes), .undivided(let bytes): context.fireChannelRead(wrapInboundOut(bytes))
            }
        }
    }
}
