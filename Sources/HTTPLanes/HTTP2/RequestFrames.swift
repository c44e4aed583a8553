import NIOCore

/// Writes the frames of requests: HEADERS, their CONTINUATION, and DATA (RFC 9113, section 6). Decides nothing.
struct RequestFrames: ~Copyable {
    private var encoder = HPACKEncoder()

    /// See ``HPACKEncoder/limitTable(to:atLeastOnceTo:)``.
    mutating func limitTable(to size: UInt32, atLeastOnceTo smallest: UInt32) {
        encoder.limitTable(to: size, atLeastOnceTo: smallest)
    }

    mutating func writeHeaders(of stream: StreamPointer, to buffer: inout ByteBuffer) {
        let bound = stream.pointee.withExchange { HPACKEncoder.bound($0) }
        guard bound <= FrameHeader.maximumLength else { return writeLargeHeaders(of: stream, bound, to: &buffer) }
        let flags: FrameFlags = stream.pointee.bodyCount == 0 ? [.endHeaders, .endStream] : .endHeaders
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: FrameHeader.size + bound) { room in
            let block = UnsafeMutableRawBufferPointer(rebasing: room[FrameHeader.size...])
            guard let frame = room.baseAddress, var cursor = BlockCursor(block) else { return 0 }
            stream.pointee.withExchange { encoder.encode($0, to: &cursor) }
            FrameHeader(length: cursor.count, type: .headers, flags: flags, streamID: stream.pointee.id)
                .write(to: frame)
            return FrameHeader.size + cursor.count
        }
    }

    /// A field block that may not fit one frame goes on in CONTINUATION frames (RFC 9113, section 6.10).
    private mutating func writeLargeHeaders(of stream: StreamPointer, _ bound: Int, to buffer: inout ByteBuffer) {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bound, alignment: 1)
        defer { memory.deallocate() }
        guard var cursor = BlockCursor(memory) else { return }
        stream.pointee.withExchange { encoder.encode($0, to: &cursor) }
        var start = 0
        repeat {
            let end = min(cursor.count, start + FrameHeader.maximumLength)
            var flags: FrameFlags = end == cursor.count ? .endHeaders : []
            if start == 0, stream.pointee.bodyCount == 0 { flags.insert(.endStream) }
            let header = FrameHeader(
                length: end - start,
                type: start == 0 ? .headers : .continuation,
                flags: flags,
                streamID: stream.pointee.id
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

    /// Writes the next `count` bytes of a request's body, and notes that they went out.
    func writeData(of stream: StreamPointer, _ count: Int, to buffer: inout ByteBuffer) {
        let start = stream.pointee.bodySent
        let isLast = start + count == stream.pointee.bodyCount
        let header = FrameHeader(
            length: count,
            type: .data,
            flags: isLast ? .endStream : [],
            streamID: stream.pointee.id
        )
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: FrameHeader.size + count) { room in
            guard let frame = room.baseAddress else { return 0 }
            header.write(to: frame)
            stream.pointee.withExchange { exchange in
                exchange.request.body.withUnsafeBytes { body in
                    guard let first = body.baseAddress else { return }
                    (frame + FrameHeader.size).copyMemory(from: first + start, byteCount: count)
                }
            }
            return FrameHeader.size + count
        }
        stream.pointee.bodySent += count
        stream.pointee.sendWindow.sent(count)
    }
}
