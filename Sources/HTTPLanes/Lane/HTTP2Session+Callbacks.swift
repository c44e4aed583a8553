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

    /// Its source is the slot itself.
    static let readBody: nghttp2_data_source_read_callback = { _, _, bytes, size, flags, source, _ in
        guard let pointer = source?.pointee.ptr, let bytes, let flags else {
            return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
        }
        return Unmanaged<StreamSlot>.fromOpaque(pointer)._withUnsafeGuaranteedRef { slot in
            let (count, isLast) = slot.readBody(into: UnsafeMutableRawBufferPointer(start: bytes, count: size))
            if isLast { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
            return count
        }
    }

    private static func from(_ user: UnsafeMutableRawPointer?) -> HTTP2Session? {
        user?.load(as: Unmanaged<HTTP2Session>?.self)?.takeUnretainedValue()
    }

    /// `nghttp2_frame` is a union, and all its members begin with the header.
    private static func header(of frame: UnsafePointer<nghttp2_frame>) -> nghttp2_frame_hd {
        UnsafeRawPointer(frame).load(as: nghttp2_frame_hd.self)
    }

    /// Called for every field of every answer, so neither object is counted: the session holds its slots, and the lane its
    /// session, while nghttp2 is at work.
    private static let onHeader: nghttp2_on_header_callback = {
        session,
        frame,
        nameBytes,
        nameLength,
        valueBytes,
        valueLength,
        _,
        _ in
        guard let frame, let nameBytes, let valueBytes,
            let pointer = nghttp2_session_get_stream_user_data(session, HTTP2Session.header(of: frame).stream_id)
        else { return 0 }
        let name = UnsafeBufferPointer(start: nameBytes, count: nameLength)
        let value = UnsafeBufferPointer(start: valueBytes, count: valueLength)
        return Unmanaged<StreamSlot>.fromOpaque(pointer)._withUnsafeGuaranteedRef {
            $0.received(name: name, value: value) ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
        }
    }

    private static let onData: nghttp2_on_data_chunk_recv_callback = { _, _, streamID, bytes, count, user in
        guard let session = HTTP2Session.from(user), let slot = session.slot(of: streamID), let bytes,
            slot.exchange != nil, !slot.isAnswered
        else { return 0 }
        if !slot.received(body: UnsafeBufferPointer(start: bytes, count: count)) { session.reset(slot) }
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
