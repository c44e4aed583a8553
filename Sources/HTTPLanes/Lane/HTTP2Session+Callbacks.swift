import CNghttp2

/// nghttp2 calls plain C functions; the session is found through the user pointer and the slot through its stream.
extension HTTP2Session {
    static func install(in callbacks: OpaquePointer) {
        nghttp2_session_callbacks_set_on_header_callback(callbacks, onHeader)
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, onData)
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, onFrame)
        nghttp2_session_callbacks_set_on_frame_not_send_callback(callbacks, onFrameNotSent)
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, onStreamClose)
    }

    static let readBody: nghttp2_data_source_read_callback = { _, streamID, bytes, size, flags, _, user in
        guard let slot = HTTP2Session.from(user)?.slot(of: streamID), let bytes, let flags else {
            return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
        }
        let (count, isLast) = slot.readBody(into: UnsafeMutableRawBufferPointer(start: bytes, count: size))
        if isLast { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
        return count
    }

    private static func from(_ user: UnsafeMutableRawPointer?) -> HTTP2Session? {
        user?.load(as: Unmanaged<HTTP2Session>?.self)?.takeUnretainedValue()
    }

    /// `nghttp2_frame` is a union, and all its members begin with the header.
    private static func header(of frame: UnsafePointer<nghttp2_frame>) -> nghttp2_frame_hd {
        UnsafeRawPointer(frame).load(as: nghttp2_frame_hd.self)
    }

    private static let onHeader: nghttp2_on_header_callback = {
        _,
        frame,
        nameBytes,
        nameLength,
        valueBytes,
        valueLength,
        _,
        user in
        guard let session = HTTP2Session.from(user), let frame, let nameBytes, let valueBytes,
            let slot = session.slot(of: HTTP2Session.header(of: frame).stream_id)
        else { return 0 }
        let name = UnsafeBufferPointer(start: nameBytes, count: nameLength)
        let value = UnsafeBufferPointer(start: valueBytes, count: valueLength)
        guard name.first != UInt8(ascii: ":") else {
            // nghttp2 lets no pseudo-header but a well-formed `:status` through. A second one follows a 1xx answer.
            slot.status = value.reduce(0) { $0 &* 10 &+ (Int($1) &- 0x30) }
            slot.headers.removeAll()
            return 0
        }
        slot.headerBytes += nameLength + valueLength + 32
        guard slot.headerBytes <= HTTP2Session.headerLimit else {
            return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
        }
        if slot.headers.isEmpty { slot.headers.reserveCapacity(8) }
        slot.headers.append(HTTPField(String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self)))
        return 0
    }

    private static let onData: nghttp2_on_data_chunk_recv_callback = { _, _, streamID, bytes, count, user in
        guard let session = HTTP2Session.from(user), let slot = session.slot(of: streamID), let bytes,
            let exchange = slot.exchange, !slot.isAnswered
        else { return 0 }
        let room = Int(exchange.request.maxResponseBytes) - slot.body.count
        slot.body.append(contentsOf: UnsafeBufferPointer(start: bytes, count: min(room, count)))
        if count > room {
            slot.isAnswered = true
            session.reset(slot)
        }
        return 0
    }

    private static let onFrame: nghttp2_on_frame_recv_callback = { _, frame, user in
        guard let session = HTTP2Session.from(user), let frame else { return 0 }
        let header = HTTP2Session.header(of: frame)
        switch UInt32(header.type) {
        case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
            if UInt32(header.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0,
                let slot = session.slot(of: header.stream_id)
            {
                session.answerEnded(slot)
            }
        case NGHTTP2_SETTINGS.rawValue:
            if UInt32(header.flags) & NGHTTP2_FLAG_ACK.rawValue == 0 { session.settingsReceived() }
        case NGHTTP2_RST_STREAM.rawValue:
            session.slot(of: header.stream_id)?.wasReset = true
        case NGHTTP2_GOAWAY.rawValue:
            session.lastProcessedByGoAway = UnsafeRawPointer(frame).load(as: nghttp2_goaway.self).last_stream_id
            session.budget.drain()
        default:
            break
        }
        return 0
    }

    private static let onFrameNotSent: nghttp2_on_frame_not_send_callback = { _, frame, _, user in
        guard let session = HTTP2Session.from(user), let frame else { return 0 }
        let header = HTTP2Session.header(of: frame)
        if UInt32(header.type) == NGHTTP2_HEADERS.rawValue { session.slot(of: header.stream_id)?.wasNeverSent = true }
        return 0
    }

    private static let onStreamClose: nghttp2_on_stream_close_callback = { _, streamID, errorCode, user in
        guard let session = HTTP2Session.from(user), let slot = session.slot(of: streamID) else { return 0 }
        session.streamClosed(slot, errorCode: errorCode)
        return 0
    }
}
