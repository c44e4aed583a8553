import Core
import DequeModule
import NIOCore

/// The client's side of one HTTP/2 connection (RFC 9113) as a state machine over bytes.
///
/// Belongs to one event loop. Each request that ``submit(_:now:)`` took comes out of ``nextFinished()`` once, whatever
/// frames a peer sends.
///
/// It frames requests itself, because nghttp2's session took two thirds of a request's cost. Responses go through a
/// strict reader, and nghttp2 decodes their fields. Requests that the server provably did not process are refused, so
/// that they can be resent; all others fail as perhaps processed.
final class HTTP2Session {
    /// The result of a request.
    enum Finished {
        case answered(Exchange, HTTPResponse)
        /// The peer has not processed it; it may be resent immediately.
        case refused(Exchange)
        case failed(Exchange, HTTPError)
    }

    /// The most bytes that a response's header fields may take together, as RFC 9113 counts them.
    static let headerLimit = 65_536

    private(set) var budget: StreamBudget
    /// The number of responses.
    private(set) var answered = 0

    private var streams: [Int32: RequestStream] = [:]
    /// Requests that have not started to be sent.
    private var unsent = StreamQueue()
    /// Requests whose bodies are being sent and that their own windows do not block.
    private var sending = StreamQueue()
    private var frames = RequestFrames()
    private var blocks: FieldBlockReader
    private var reader = FrameReader()
    private var allowance = FrameAllowance()
    private var control = ControlFrames()
    private var settings = SettingsExchange()
    private var sendWindow = SendWindow()
    private var receiveWindow = ReceiveWindow(size: HTTP2Session.receiveWindowSize)
    private var resetStreams = ResetStreams()
    /// The highest stream whose HEADERS were sent; all above it are idle.
    private var lastSent: Int32 = 0
    /// The last stream that the peer will process, from its GOAWAY.
    private var lastProcessed: Int32?
    /// This side has sent GOAWAY: only control frames follow.
    private var hasSaidGoodbye = false
    private var isAbandoned = false
    private var nextStreamID: Int32 = 1
    private var finished: Deque<Finished> = []

    /// Queues the connection preface and this side's SETTINGS; nil if memory is exhausted.
    init?(streamLimit: Int) {
        guard let blocks = FieldBlockReader() else { return nil }
        self.blocks = blocks
        budget = StreamBudget(ceiling: streamLimit)
        control.preface()
        control.settings([
            (.enablePush, 0), (.maxConcurrentStreams, 0), (.maxHeaderListSize, UInt32(Self.headerLimit)),
        ])
        control.windowUpdate(streamID: 0, by: Self.receiveWindowSize - RequestStream.window)
    }

    /// Whether the connection has nothing left to send or receive.
    var isOver: Bool {
        guard control.bytes.isEmpty else { return false }
        return hasSaidGoodbye || (budget.isDraining && streams.isEmpty)
    }

    /// In the order of their submission.
    private var openStreams: [RequestStream] { streams.values.sorted { $0.id < $1.id } }

    /// Opens a stream for `exchange`; its frames are sent with the next `pump`. Returns false without any effect if no
    /// stream can be opened.
    func submit(_ exchange: Exchange, now: Deadline) -> Bool {
        guard budget.free > 0, !hasSaidGoodbye else { return false }
        let stream = RequestStream(exchange, id: nextStreamID, now: now)
        streams[nextStreamID] = stream
        unsent.append(stream)
        budget.opened(streamID: nextStreamID)
        nextStreamID += 2
        return true
    }

    /// The next ended request, in order.
    func nextFinished() -> Finished? { finished.popFirst() }

    /// Resets the streams of requests whose deadline has passed; they finish as timed out. Returns the soonest deadline
    /// left, and when the earliest of these requests was sent.
    func expire(now: Deadline) -> (nextDeadline: Deadline?, earliestSubmission: Deadline?) {
        var next: Deadline?
        var earliest: Deadline?
        for stream in openStreams {
            let deadline = stream.exchange.deadline
            if deadline > now {
                next = min(next ?? .distantFuture, deadline)
                continue
            }
            earliest = min(earliest ?? .distantFuture, stream.submittedAt)
            fail(stream, .timeout, reset: .cancel)
        }
        return (next, earliest)
    }

    /// Sends a PING with the next `pump`.
    func ping() {
        guard !isAbandoned else { return }
        control.ping()
    }

    /// Sends GOAWAY with the next `pump`, and no frames after it.
    func sendGoAway(_ code: HTTP2ErrorCode = .noError) {
        guard !hasSaidGoodbye else { return }
        hasSaidGoodbye = true
        budget.drain()
        control.goAway(code)
    }

    /// Ends all streams after the connection was lost. Provably unprocessed requests finish as refused, all others fail
    /// with `reason`. No bytes are sent or received after this.
    func abandon(_ reason: HTTPError.Reason) {
        isAbandoned = true
        budget.drain()
        control.removeAll()
        for stream in openStreams {
            if stream.isSent { fail(stream, reason) } else { refuse(stream) }
        }
    }

    /// Its HEADERS are sent now.
    private func markSent(_ stream: RequestStream) {
        stream.isSent = true
        lastSent = stream.id
        budget.startedSending()
    }

    // Each of the following functions ends one stream.

    /// The response is complete. A request body still being sent is no longer needed.
    private func finish(_ stream: RequestStream, isEndedByPeer: Bool) {
        let id = stream.id
        if !stream.isRequestComplete || !isEndedByPeer {
            control.reset(streamID: id, .cancel)
            if !isEndedByPeer { resetStreams.insert(id) }
        }
        let response = stream.answer.take()
        answered += 1
        finished.append(.answered(close(stream), response))
    }

    private func refuse(_ stream: RequestStream) {
        finished.append(.refused(close(stream)))
    }

    /// - Parameters:
    ///   - stream: The one that fails.
    ///   - reason: Why.
    ///   - code: The reset's code, if the peer does not know yet.
    private func fail(_ stream: RequestStream, _ reason: HTTPError.Reason, reset code: HTTP2ErrorCode? = nil) {
        let isSent = stream.isSent
        if let code, isSent {
            control.reset(streamID: stream.id, code)
            resetStreams.insert(stream.id)
        }
        finished.append(.failed(close(stream), HTTPError(reason, mayHaveBeenProcessed: isSent)))
    }

    private func close(_ stream: RequestStream) -> Exchange {
        if stream.isSent { sending.remove(stream) } else { unsent.remove(stream) }
        budget.closed(wasSent: stream.isSent)
        allowance.streamEnded()
        streams[stream.id] = nil
        return stream.exchange
    }

    /// This side's window for all responses together.
    private static let receiveWindowSize = 1 << 20

    // MARK: Sending

    /// Appends frames to `buffer` until it holds about `size` bytes. True if there may be more.
    func pump(into buffer: inout ByteBuffer, upTo size: Int) -> Bool {
        guard !isAbandoned else { return false }
        if !control.bytes.isEmpty {
            buffer.writeBytes(control.bytes)
            control.removeAll()
        }
        guard !hasSaidGoodbye else { return false }
        while buffer.readableBytes < size {
            let isWritten =
                if let stream = sending.streams.first {
                    writeNext(of: stream, to: &buffer)
                } else if let stream = unsent.streams.first {
                    start(stream, to: &buffer)
                } else {
                    false
                }
            guard isWritten else { return false }
        }
        return true
    }

    /// Sends a request's HEADERS. False if it must wait: it can still move to another connection, because the peer has
    /// seen no part of it.
    private func start(_ stream: RequestStream, to buffer: inout ByteBuffer) -> Bool {
        guard budget.sent < budget.allowed else { return false }
        guard stream.bodyCount == 0 || connectionWindow > 0 else { return false }
        unsent.remove(stream)
        markSent(stream)
        frames.writeHeaders(of: stream, to: &buffer)
        if !stream.isRequestComplete { sending.append(stream) }
        return true
    }

    /// The DATA that the peer accepts on the connection, for all streams together.
    private var connectionWindow: Int { sendWindow.available(initially: SendWindow.connectionSize) }

    /// Sends a piece of a request's body. False if it must wait for the connection's window.
    private func writeNext(of stream: RequestStream, to buffer: inout ByteBuffer) -> Bool {
        let connection = connectionWindow
        guard connection > 0 else { return false }
        let left = stream.bodyCount - stream.bodySent
        let window = min(connection, stream.sendWindow.available(initially: settings.peer.initialWindowSize))
        let untilUpdate = sendWindow.untilUpdate(initially: SendWindow.connectionSize)
        let count = min(left, window, FrameHeader.maximumLength, untilUpdate)
        if count > 0 {
            frames.writeData(of: stream, count, to: &buffer)
            sendWindow.sent(count)
        }
        // A stream that waits for its own window is queued again by WINDOW_UPDATE or SETTINGS.
        if count == left || count <= 0 { sending.remove(stream) }
        return true
    }

    // MARK: Receiving

    /// Processes the peer's bytes. False after a connection error; the next `pump` sends its GOAWAY.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard !isAbandoned else { return false }
        // Input after this side's GOAWAY is ignored.
        guard !hasSaidGoodbye else { return true }
        var rest = bytes
        do throws(HTTP2Violation) {
            while let frame = try reader.next(&rest) {
                try allowance.spend(frame.header)
                try received(frame)
            }
            guard !control.isFlooded else { throw .connection(.enhanceYourCalm) }
            return true
        } catch {
            if case .connection(let code) = error { sendGoAway(code) }
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
        if let streamID = blocks.streamInProgress {
            guard type == .continuation, frame.header.streamID == streamID else { throw .connection(.protocolError) }
        } else if !settings.hasBegun {
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
        // Disabled in this side's SETTINGS.
        case .pushPromise: throw .connection(.protocolError)
        case nil: break
        }
    }

    /// The open stream of a stream frame; nil if its frames are ignored.
    private func stream(of frame: Frame) throws(HTTP2Violation) -> RequestStream? {
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
            areTrailers: stream?.answer.awaitsTrailers ?? true
        )
        let whole = try blocks.begin(block, fragment, isLast: frame.header.flags.contains(.endHeaders))
        if let whole = consume whole { try received(whole, on: stream) }
    }

    private func receivedContinuation(_ frame: Frame) throws(HTTP2Violation) {
        let whole = try blocks.go(on: frame.payload, isLast: frame.header.flags.contains(.endHeaders))
        // Its stream may have been given up between the frames.
        if let whole = consume whole {
            let stream = streams[whole.streamID]
            try received(whole, on: stream)
        }
    }

    private func received(
        _ block: consuming FieldBlock,
        on stream: RequestStream?
    ) throws(HTTP2Violation) {
        guard let stream else { return }
        let endsStream = block.endsStream
        try stream.answer.received(block.takeFields(), endsStream: endsStream)
        if endsStream { finish(stream, isEndedByPeer: true) }
    }

    private func receivedData(_ frame: Frame) throws(HTTP2Violation) {
        let stream = try stream(of: frame)
        receiveWindow.received(frame.payload.count)
        let content = try frame.content()
        if let increment = receiveWindow.takeIncrement() { control.windowUpdate(streamID: 0, by: increment) }
        guard let stream else { return }
        stream.receiveWindow.received(frame.payload.count)
        let endsStream = frame.header.flags.contains(.endStream)
        allowance.received(kept: try stream.answer.received(content: content, endsStream: endsStream))
        if endsStream || stream.answer.isCutOff {
            finish(stream, isEndedByPeer: endsStream)
        } else if let increment = stream.receiveWindow.takeIncrement() {
            control.windowUpdate(streamID: frame.header.streamID, by: increment)
        }
    }

    private func receivedReset(_ frame: Frame) throws(HTTP2Violation) {
        guard frame.payload.count == 4 else { throw .connection(.frameSizeError) }
        let id = frame.header.streamID
        guard id > 0, !id.isMultiple(of: 2), id <= lastSent else { throw .connection(.protocolError) }
        guard let stream = streams[id] else { return }
        let isRefused = frame.number(at: 0) == HTTP2ErrorCode.refusedStream.rawValue
        // The peer has withdrawn its own outstanding frames of the stream.
        if isRefused, stream.answer.status == 0 { refuse(stream) } else { fail(stream, .closed) }
    }

    private func receivedPriority(_ frame: Frame) throws(HTTP2Violation) {
        guard frame.header.streamID > 0 else { throw .connection(.protocolError) }
        guard frame.payload.count == 5 else { throw .stream(.frameSizeError) }
    }

    // MARK: Frames of the connection, and windows

    private func receivedSettings(_ frame: Frame) throws(HTTP2Violation) {
        let oldWindow = settings.peer.initialWindowSize
        guard try settings.received(frame) == .set else { return }
        if let smallest = settings.peer.takeSmallestHeaderTableSize() {
            frames.encoder.limitTable(to: settings.peer.headerTableSize, atLeastOnceTo: smallest)
        }
        if settings.peer.initialWindowSize != oldWindow { try windowsMoved() }
        budget.settingsReceived(maxConcurrentStreams: settings.peer.maxConcurrentStreams)
        control.settingsAck()
    }

    private func receivedPing(_ frame: Frame) throws(HTTP2Violation) {
        guard frame.header.streamID == 0 else { throw .connection(.protocolError) }
        guard frame.payload.count == 8 else { throw .connection(.frameSizeError) }
        if !frame.header.flags.contains(.ack) { control.pingAck(frame.payload) }
    }

    private func receivedGoAway(_ frame: Frame) throws(HTTP2Violation) {
        guard frame.header.streamID == 0 else { throw .connection(.protocolError) }
        guard frame.payload.count >= 8 else { throw .connection(.frameSizeError) }
        let last = Int32(frame.number(at: 0) & 0x7fff_ffff)
        // It may only decrease, because requests beyond it were already sent elsewhere (RFC 9113, section 6.8).
        guard last <= lastProcessed ?? .max else { throw .connection(.protocolError) }
        lastProcessed = last
        budget.drain()
        for stream in openStreams where !stream.isSent || stream.id > last { refuse(stream) }
    }

    private func receivedWindowUpdate(_ frame: Frame) throws(HTTP2Violation) {
        guard frame.payload.count == 4 else { throw .connection(.frameSizeError) }
        let id = frame.header.streamID
        let increment = Int(frame.number(at: 0) & 0x7fff_ffff)
        guard id != 0 else {
            guard increment > 0 else { throw .connection(.protocolError) }
            guard sendWindow.grow(by: increment, initially: SendWindow.connectionSize) else {
                throw .connection(.flowControlError)
            }
            return
        }
        guard !id.isMultiple(of: 2), id <= lastSent else { throw .connection(.protocolError) }
        guard increment > 0 else { throw .stream(.protocolError) }
        guard let stream = streams[id] else { return }
        guard stream.sendWindow.grow(by: increment, initially: settings.peer.initialWindowSize) else {
            throw .stream(.flowControlError)
        }
        resume(stream)
    }

    /// The peer's initial window changed, and with it every stream's window (RFC 9113, section 6.9.2).
    private func windowsMoved() throws(HTTP2Violation) {
        for stream in openStreams {
            guard stream.sendWindow.available(initially: settings.peer.initialWindowSize) <= SendWindow.maximum
            else {
                throw .connection(.flowControlError)
            }
            resume(stream)
        }
    }

    /// Queues a stream again that may have waited for its window.
    private func resume(_ stream: RequestStream) {
        guard stream.isSent, !stream.isRequestComplete,
            stream.sendWindow.available(initially: settings.peer.initialWindowSize) > 0
        else { return }
        sending.append(stream)
    }
}
