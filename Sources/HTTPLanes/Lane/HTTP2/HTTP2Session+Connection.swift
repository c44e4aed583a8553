/// Frames that concern the connection, and windows.
extension HTTP2Session {
    func receivedSettings(_ frame: Frame) throws(HTTP2Violation) {
        guard frame.header.streamID == 0 else { throw .connection(.protocolError) }
        if frame.header.flags.contains(.ack) {
            guard frame.payload.isEmpty else { throw .connection(.frameSizeError) }
            guard isAckDue else { throw .connection(.protocolError) }
            isAckDue = false
            return
        }
        let oldWindow = peer.initialWindowSize
        try peer.apply(frame)
        if let smallest = peer.takeSmallestHeaderTableSize() {
            encoder.limitTable(to: peer.headerTableSize, atLeastOnceTo: smallest)
        }
        if peer.initialWindowSize != oldWindow { try windowsMoved() }
        settingsReceived()
        control.settingsAck()
    }

    func receivedPing(_ frame: Frame) throws(HTTP2Violation) {
        guard frame.header.streamID == 0 else { throw .connection(.protocolError) }
        guard frame.payload.count == 8 else { throw .connection(.frameSizeError) }
        if !frame.header.flags.contains(.ack) { control.pingAck(frame.payload) }
    }

    func receivedGoAway(_ frame: Frame) throws(HTTP2Violation) {
        guard frame.header.streamID == 0 else { throw .connection(.protocolError) }
        guard frame.payload.count >= 8 else { throw .connection(.frameSizeError) }
        let last = Int32(frame.number(at: 0) & 0x7fff_ffff)
        // It may only be taken back, as requests beyond it have already been sent elsewhere (RFC 9113, section 6.8).
        guard last <= lastProcessed ?? .max else { throw .connection(.protocolError) }
        lastProcessed = last
        drain()
        for stream in streams.open where !stream.pointee.isSent || stream.pointee.id > last { refuse(stream) }
    }

    func receivedWindowUpdate(_ frame: Frame) throws(HTTP2Violation) {
        guard frame.payload.count == 4 else { throw .connection(.frameSizeError) }
        let id = frame.header.streamID
        let increment = Int(frame.number(at: 0) & 0x7fff_ffff)
        if id == 0 {
            guard increment > 0 else { throw .connection(.protocolError) }
            guard sendWindow.grow(by: increment, initially: Self.initialWindow) else {
                throw .connection(.flowControlError)
            }
            return
        }
        guard !id.isMultiple(of: 2), id <= lastSent else { throw .connection(.protocolError) }
        guard increment > 0 else { throw .stream(.protocolError) }
        guard let stream = streams[id] else { return }
        guard stream.pointee.sendWindow.grow(by: increment, initially: peer.initialWindowSize) else {
            throw .stream(.flowControlError)
        }
        resume(stream)
    }

    /// The peer's initial window changed, and with it that of every stream (RFC 9113, section 6.9.2).
    private func windowsMoved() throws(HTTP2Violation) {
        for stream in streams.open {
            guard stream.pointee.sendWindow.available(initially: peer.initialWindowSize) <= SendWindow.maximum else {
                throw .connection(.flowControlError)
            }
            resume(stream)
        }
    }

    /// Lines up again what may have waited for its stream's window.
    private func resume(_ stream: StreamPointer) {
        guard stream.pointee.isSent, !stream.pointee.isRequestComplete,
            stream.pointee.sendWindow.available(initially: peer.initialWindowSize) > 0
        else { return }
        sending.append(stream)
    }
}
