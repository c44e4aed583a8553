import Core
import DequeModule
import NIOCore

/// One request on its stream, from submission to its end. Belongs to its session's event loop.
final class RequestStream {
    let id: Int32
    let exchange: Exchange
    let submittedAt: Deadline
    fileprivate var isQueued = false

    /// Whether its HEADERS were sent. Until then the peer cannot have seen it.
    var isSent = false
    /// Sent bytes of the request's body.
    var bodySent = 0
    var sendWindow = SendWindow()
    var receiveWindow = ReceiveWindow(size: RequestStream.window)
    var answer: Answer

    /// A stream for `exchange`, submitted at `now`.
    init(_ exchange: Exchange, id: Int32, now: Deadline) {
        self.exchange = exchange
        self.id = id
        submittedAt = now
        answer = Answer(
            bodyLimit: exchange.request.maxResponseBytes.bytes,
            isToHead: exchange.request.method == "HEAD"
        )
    }

    var bodyCount: Int { exchange.request.body.count }

    /// Whether this side has nothing more to send.
    var isRequestComplete: Bool { isSent && bodySent == bodyCount }

    /// Every stream's initial window, because this side sets no other.
    static let window = 65_535
}

/// The streams that have frames to send, in FIFO order.
struct StreamQueue {
    private(set) var streams: Deque<RequestStream> = []

    mutating func append(_ stream: RequestStream) {
        guard !stream.isQueued else { return }
        stream.isQueued = true
        streams.append(stream)
    }

    mutating func remove(_ stream: RequestStream) {
        guard stream.isQueued, let place = streams.firstIndex(where: { $0 === stream }) else { return }
        stream.isQueued = false
        streams.remove(at: place)
    }
}

/// The streams that this side recently reset. Frames that their peer sent before it knew are ignored; on any other
/// closed stream they would be a violation (RFC 9113, section 5.1).
struct ResetStreams {
    private var streams: Set<Int32> = []
    private var order: [Int32] = []
    private var nextToForget = 0
    /// Streams up to this one may have been forgotten.
    private var forgotten: Int32 = 0
    private let capacity: Int

    init(capacity: Int = 1_024) {
        self.capacity = capacity
    }

    mutating func insert(_ streamID: Int32) {
        guard streams.insert(streamID).inserted else { return }
        guard order.count == capacity else {
            order.append(streamID)
            return
        }
        let old = order[nextToForget]
        streams.remove(old)
        forgotten = max(forgotten, old)
        order[nextToForget] = streamID
        nextToForget = (nextToForget + 1) % capacity
    }

    /// True if in doubt.
    func mayContain(_ streamID: Int32) -> Bool {
        streamID <= forgotten || streams.contains(streamID)
    }
}

/// Writes the frames of requests: HEADERS, their CONTINUATION, and DATA (RFC 9113, section 6). Makes no decisions.
struct RequestFrames: ~Copyable {
    var encoder = HPACKEncoder()

    mutating func writeHeaders(of stream: RequestStream, to buffer: inout ByteBuffer) {
        let bound = HPACKEncoder.bound(stream.exchange)
        guard bound <= FrameHeader.maximumLength else { return writeLargeHeaders(of: stream, bound, to: &buffer) }
        let flags: FrameFlags = stream.bodyCount == 0 ? [.endHeaders, .endStream] : .endHeaders
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: FrameHeader.size + bound) { room in
            let block = UnsafeMutableRawBufferPointer(rebasing: room[FrameHeader.size...])
            guard let frame = room.baseAddress, var cursor = BlockCursor(block) else { return 0 }
            encoder.encode(stream.exchange, to: &cursor)
            FrameHeader(length: cursor.count, type: .headers, flags: flags, streamID: stream.id)
                .write(to: frame)
            return FrameHeader.size + cursor.count
        }
    }

    /// A field block that may not fit into one frame continues in CONTINUATION frames (RFC 9113, section 6.10).
    private mutating func writeLargeHeaders(of stream: RequestStream, _ bound: Int, to buffer: inout ByteBuffer) {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bound, alignment: 1)
        defer { memory.deallocate() }
        guard var cursor = BlockCursor(memory) else { return }
        encoder.encode(stream.exchange, to: &cursor)
        var start = 0
        repeat {
            let end = min(cursor.count, start + FrameHeader.maximumLength)
            var flags: FrameFlags = end == cursor.count ? .endHeaders : []
            if start == 0, stream.bodyCount == 0 { flags.insert(.endStream) }
            let header = FrameHeader(
                length: end - start,
                type: start == 0 ? .headers : .continuation,
                flags: flags,
                streamID: stream.id
            )
            buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: FrameHeader.size) { room in
                guard let frame = room.baseAddress else { return 0 }
                header.write(to: frame)
                return FrameHeader.size
            }
            buffer.writeBytes(UnsafeRawBufferPointer(rebasing: memory[start..<end]))
            start = end
        } while start < cursor.count
    }

    /// Writes the next `count` bytes of a request's body, and counts them as sent.
    func writeData(of stream: RequestStream, _ count: Int, to buffer: inout ByteBuffer) {
        let start = stream.bodySent
        let isLast = start + count == stream.bodyCount
        let header = FrameHeader(
            length: count,
            type: .data,
            flags: isLast ? .endStream : [],
            streamID: stream.id
        )
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: FrameHeader.size + count) { room in
            guard let frame = room.baseAddress else { return 0 }
            header.write(to: frame)
            stream.exchange.request.body.withUnsafeBytes { body in
                guard let first = body.baseAddress else { return }
                (frame + FrameHeader.size).copyMemory(from: first + start, byteCount: count)
            }
            return FrameHeader.size + count
        }
        stream.bodySent += count
        stream.sendWindow.sent(count)
    }
}
