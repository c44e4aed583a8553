extension HTTP2Session {
    /// Takes in what the peer sent. False when the connection is beyond repair; what to tell the peer about it goes out
    /// with the next `pump`.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard !isAbandoned else { return false }
        // What a peer says after it was left is not heard.
        guard !hasSaidGoodbye else { return true }
        var rest = bytes
        do throws(HTTP2Violation) {
            while let frame = try reader.next(&rest) { try received(frame) }
            guard !control.isFlooded else { throw .connection(.enhanceYourCalm) }
            return true
        } catch {
            if case .connection(let code) = error { sayGoodbye(code) }
            return false
        }
    }

    private func received(_ frame: Frame) throws(HTTP2Violation) {
        do throws(HTTP2Violation) {
            try dispatch(frame)
        } catch {
            guard case .stream(let code) = error else { throw error }
            if let stream = streams[frame.header.streamID] { fail(stream, .protocolError, reset: code) }
        }
    }

    private func dispatch(_ frame: Frame) throws(HTTP2Violation) {
        let type = frame.header.type
        if let blockInProgress {
            guard type == .continuation, frame.header.streamID == blockInProgress.streamID else {
                throw .connection(.protocolError)
            }
        } else if !hasPeerSettings {
            guard type == .settings, !frame.header.flags.contains(.ack) else { throw .connection(.protocolError) }
        }
        switch type {
        case .data: try receivedData(frame)
        case .headers: try receivedHeaders(frame)
        case .continuation: try receivedContinuation(frame)
        case .rstStream: try receivedReset(frame)
        case .windowUpdate: try receivedWindowUpdate(frame)
        case .settings: try receivedSettings(frame)
        case .ping: try receivedPing(frame)
        case .goAway: try receivedGoAway(frame)
        case .priority: try receivedPriority(frame)
        // Switched off in this side's SETTINGS.
        case .pushPromise: throw .connection(.protocolError)
        case nil: break
        }
    }

    /// The open stream of a frame that only comes on streams; nil when it is one whose frames are passed over.
    private func stream(of frame: Frame) throws(HTTP2Violation) -> StreamPointer? {
        let id = frame.header.streamID
        guard id > 0, !id.isMultiple(of: 2), id <= lastSent else { throw .connection(.protocolError) }
        if let stream = streams[id] { return stream }
        if let lastProcessed, id > lastProcessed { return nil }
        guard resetStreams.mayContain(id) else { throw .connection(.streamClosed) }
        return nil
    }

    private func receivedHeaders(_ frame: Frame) throws(HTTP2Violation) {
        let fragment = try frame.fieldBlockFragment()
        let stream = try stream(of: frame)
        let block = FieldBlock(
            streamID: frame.header.streamID,
            endsStream: frame.header.flags.contains(.endStream),
            areTrailers: stream?.pointee.answer.awaitsTrailers ?? true
        )
        try decode(fragment, of: block, to: stream, isLast: frame.header.flags.contains(.endHeaders))
    }

    private func receivedContinuation(_ frame: Frame) throws(HTTP2Violation) {
        guard let block = blockInProgress else { throw .connection(.protocolError) }
        // It may have been given up between the frames.
        let stream = streams[block.streamID]
        try decode(frame.payload, of: block, to: stream, isLast: frame.header.flags.contains(.endHeaders))
    }

    private func decode(
        _ fragment: UnsafeRawBufferPointer,
        of block: consuming FieldBlock,
        to stream: StreamPointer?,
        isLast: Bool
    ) throws(HTTP2Violation) {
        var block = block
        blockInProgress = nil
        guard block.received(fragment.count) else { throw .connection(.enhanceYourCalm) }
        let mayRepeat = isLast && block.isInOnePiece && !block.fields.areTrailers
        if mayRepeat, let fields = repeated.fields(of: fragment) {
            block.fields = fields
        } else {
            try decoder.decode(fragment, isLast: isLast) { block.fields.append(name: $0, value: $1) }
            if mayRepeat {
                repeated.learn(fragment, block.fields)
            } else if !isLast || !block.isInOnePiece || !RepeatedBlock.leavesTableAlone(fragment) {
                repeated.forget()
            }
        }
        guard isLast else {
            blockInProgress = block
            return
        }
        guard let stream else { return }
        try stream.pointee.answer.received(block.fields, endsStream: block.endsStream)
        if block.endsStream { finish(stream, isEndedByPeer: true) }
    }

    private func receivedData(_ frame: Frame) throws(HTTP2Violation) {
        let stream = try stream(of: frame)
        receiveWindow.received(frame.payload.count)
        let content = try frame.content()
        if let increment = receiveWindow.takeIncrement() { control.windowUpdate(streamID: 0, by: increment) }
        guard let stream else { return }
        stream.pointee.receiveWindow.received(frame.payload.count)
        let endsStream = frame.header.flags.contains(.endStream)
        try stream.pointee.answer.received(content: content, endsStream: endsStream)
        if endsStream || stream.pointee.answer.isCutOff {
            finish(stream, isEndedByPeer: endsStream)
        } else if let increment = stream.pointee.receiveWindow.takeIncrement() {
            control.windowUpdate(streamID: frame.header.streamID, by: increment)
        }
    }

    private func receivedReset(_ frame: Frame) throws(HTTP2Violation) {
        guard frame.payload.count == 4 else { throw .connection(.frameSizeError) }
        let id = frame.header.streamID
        guard id > 0, !id.isMultiple(of: 2), id <= lastSent else { throw .connection(.protocolError) }
        guard let stream = streams[id] else { return }
        let isRefused = frame.number(at: 0) == HTTP2ErrorCode.refusedStream.rawValue
        // What the peer has still under way on it, if anything, it has taken back itself.
        if isRefused, stream.pointee.answer.status == 0 { refuse(stream) } else { fail(stream, .closed) }
    }

    private func receivedPriority(_ frame: Frame) throws(HTTP2Violation) {
        guard frame.header.streamID > 0 else { throw .connection(.protocolError) }
        guard frame.payload.count == 5 else { throw .stream(.frameSizeError) }
    }
}
