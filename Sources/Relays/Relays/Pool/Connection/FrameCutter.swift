import NIOCore

/// Splits the server's side of a WebSocket (RFC 6455) into whole messages and frames. Most relay messages are one text
/// in one frame and are passed on without a copy. A message over the limit is skipped. All other frames go to the
/// decoder, which implements all rules.
///
/// Pure: bytes in, pieces out.
struct FrameCutter {
    enum Piece: Equatable {
        /// A whole message, reassembled if it was fragmented.
        case text(ByteBuffer)
        /// A whole control frame, unchanged.
        case frame(ByteBuffer)
        /// The start of a message over the limit. Its content is dropped.
        case tooLong
        /// Bytes with a frame that a server must not send. All later bytes are returned this way too.
        case undivided(ByteBuffer)
        /// The stream cannot be read any further.
        case broken(ConnectionError)
    }

    private static let reserved: UInt8 = 0x70
    private static let final: UInt8 = 0x80
    private static let control: UInt8 = 0x08
    private static let opcode: UInt8 = 0x0F
    private static let continuation: UInt8 = 0
    private static let text: UInt8 = 1
    private static let longestHeader = 10
    /// The maximum buffer reserved up front. A frame's header may announce bytes that never arrive.
    private static let reserve = 16 << 10
    /// The maximum number of fragments of one message.
    private static let maxParts = 4_096

    private let messageBytes: Int
    private let bytesPassed: Int
    private var rest = ByteBuffer()
    /// Whether more frames of a message follow.
    private var isWithinMessage = false
    /// The parts of that message so far.
    private var parts = ByteBuffer()
    private var partCount = 0
    /// The length so far of the message that is being skipped; nil if none is.
    private var passed: Int?
    /// The bytes of its last frame that have not arrived.
    private var toPass = 0
    private var isUndivided = false
    private var isBroken = false

    /// `messageBytes` is the maximum message size. A message of up to `bytesPassed` is skipped.
    init(messageBytes: Int, bytesPassed: Int) {
        self.messageBytes = messageBytes
        self.bytesPassed = bytesPassed
    }

    /// Whether a message that is too long is being skipped.
    var isPassing: Bool { passed != nil || toPass > 0 }

    /// Takes received bytes. Call ``next()`` until it returns nil.
    mutating func add(_ bytes: ByteBuffer) {
        guard !isBroken else { return }
        if rest.readableBytes == 0 {
            rest = bytes
        } else {
            rest.writeImmutableBuffer(bytes)
        }
    }

    /// Returns the next piece; nil if no whole piece is left.
    mutating func next() -> Piece? {
        while true {
            pass()
            guard rest.readableBytes > 0 else {
                rest = ByteBuffer()
                return nil
            }
            if isUndivided { return takeEverything() }
            guard let (first, header, length) = header() else { return keep() }
            guard let length, first & Self.reserved == 0 else { return takeUndivided() }
            guard first & Self.control == 0 else {
                guard length <= messageBytes else { return takeUndivided() }
                guard rest.readableBytes >= header + length else { return keep(header + length) }
                return rest.readSlice(length: header + length).map { .frame($0) }
            }
            guard first & Self.opcode == (isWithinMessage ? Self.continuation : Self.text) else {
                // The decoder does not know which texts were already taken.
                return isWithinMessage ? fail(.protocolError) : takeUndivided()
            }
            switch takePart(isLast: first & Self.final != 0, header: header, length: length) {
            case .piece(let piece): return piece
            case .incomplete: return keep(header + length)
            case .taken: continue
            }
        }
    }

    private enum Part {
        case taken
        case incomplete
        case piece(Piece)
    }

    /// Takes the next fragment of a message, or the whole message.
    private mutating func takePart(isLast: Bool, header: Int, length: Int) -> Part {
        let isTooLong = length > messageBytes - parts.readableBytes || partCount == Self.maxParts
        if passed != nil || isTooLong { return passPart(isLast: isLast, header: header, length: length) }
        guard rest.readableBytes >= header + length else { return .incomplete }
        rest.moveReaderIndex(forwardBy: header)
        guard let part = rest.readSlice(length: length) else { return .incomplete }
        defer { if isLast { endMessage() } else { isWithinMessage = true } }
        if isLast, partCount == 0 { return .piece(.text(part)) }
        parts.writeImmutableBuffer(part)
        partCount += 1
        return isLast ? .piece(.text(parts)) : .taken
    }

    /// Starts skipping the next fragment. Headers count too, so that many short fragments reach the limit.
    private mutating func passPart(isLast: Bool, header: Int, length: Int) -> Part {
        let before = passed ?? parts.readableBytes
        guard length <= bytesPassed - before - header else { return .piece(fail(.tooLarge)) }
        let isNew = passed == nil
        endMessage()
        rest.moveReaderIndex(forwardBy: header)
        toPass = length
        if !isLast { (isWithinMessage, passed) = (true, before + header + length) }
        return isNew ? .piece(.tooLong) : .taken
    }

    private mutating func pass() {
        let count = min(toPass, rest.readableBytes)
        rest.moveReaderIndex(forwardBy: count)
        toPass -= count
    }

    private mutating func endMessage() {
        (parts, partCount) = (ByteBuffer(), 0)
        (isWithinMessage, passed) = (false, nil)
    }

    /// The first byte of the next frame, and the lengths of its header and payload. The payload's length is nil if it
    /// is masked or absurd. Nil while the header is incomplete.
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

    private mutating func takeUndivided() -> Piece {
        isUndivided = true
        return takeEverything()
    }

    private mutating func takeEverything() -> Piece {
        defer { rest = ByteBuffer() }
        return .undivided(rest)
    }

    private mutating func fail(_ failure: ConnectionError) -> Piece {
        isBroken = true
        rest = ByteBuffer()
        return .broken(failure)
    }

    /// Keeps the start of a frame that has `count` bytes, but releases the large buffer that it arrived in.
    private mutating func keep(_ count: Int = Self.longestHeader) -> Piece? {
        guard rest.readerIndex > 0 || rest.writableBytes == 0 else { return nil }
        var copy = ByteBuffer()
        copy.reserveCapacity(min(count, Self.reserve))
        copy.writeImmutableBuffer(rest)
        rest = copy
        return nil
    }
}
