import NIOCore

extension HTTP2Session {
    /// Appends frames to `buffer` until it holds about `size` bytes. True when there may be more.
    func pump(into buffer: inout ByteBuffer, upTo size: Int) -> Bool {
        guard !isAbandoned else { return false }
        if !control.isEmpty {
            buffer.writeBytes(control.bytes)
            control.removeAll()
        }
        guard !hasSaidGoodbye else { return false }
        while buffer.readableBytes < size {
            let isWritten =
                if let stream = sending.first {
                    writeNext(of: stream, to: &buffer)
                } else if let stream = unsent.first {
                    start(stream, to: &buffer)
                } else {
                    false
                }
            guard isWritten else { return false }
        }
        return true
    }

    /// Sends a request's HEADERS. False when it has to wait: as long as the peer has seen nothing of it, it can still be
    /// taken elsewhere.
    private func start(_ stream: StreamPointer, to buffer: inout ByteBuffer) -> Bool {
        guard budget.sent < budget.allowed else { return false }
        guard stream.pointee.bodyCount == 0 || sendWindow.available(initially: Self.initialWindow) > 0 else {
            return false
        }
        unsent.remove(stream)
        markSent(stream)
        writeHeaders(of: stream, to: &buffer)
        if !stream.pointee.isRequestComplete { sending.append(stream) }
        return true
    }

    /// Sends a piece of a request's body. False when it has to wait for the connection's window.
    private func writeNext(of stream: StreamPointer, to buffer: inout ByteBuffer) -> Bool {
        let connection = sendWindow.available(initially: Self.initialWindow)
        guard connection > 0 else { return false }
        let left = stream.pointee.bodyCount - stream.pointee.bodySent
        let window = min(connection, stream.pointee.sendWindow.available(initially: peer.initialWindowSize))
        let count = min(left, window, FrameHeader.maximumLength)
        if count > 0 { writeData(of: stream, count, to: &buffer) }
        // What waits for its own window comes back with a WINDOW_UPDATE or SETTINGS.
        if count == left || count <= 0 { sending.remove(stream) }
        return true
    }

    private func writeData(of stream: StreamPointer, _ count: Int, to buffer: inout ByteBuffer) {
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
        sendWindow.sent(count)
    }

    private func writeHeaders(of stream: StreamPointer, to buffer: inout ByteBuffer) {
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
    private func writeLargeHeaders(of stream: StreamPointer, _ bound: Int, to buffer: inout ByteBuffer) {
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

    /// The connection's own, which no setting changes (RFC 9113, section 6.9.2).
    static let initialWindow = 65_535
}
