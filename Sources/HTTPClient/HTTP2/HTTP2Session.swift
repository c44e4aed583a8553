import Core
import DequeModule
import NIOCore

/// The client's side of one HTTP/2 connection (RFC 9113), bytes in and bytes out.
///
/// Belongs to one event loop. Each request that ``submit(_:now:)`` took comes out of ``nextFinished()`` once, whatever
/// frames a peer invents.
///
/// It frames requests itself, because nghttp2's session took two thirds of what a request costs. Answers go through a
/// strict reader, and nghttp2 decodes their fields. Requests that the server provably did not process are refused, so
/// that they can be sent again; all others fail as perhaps processed.
final class HTTP2Session {
    /// The result of a request.
    enum Finished {
        case answered(Exchange, HTTPResponse)
        /// The peer has not processed it; it may be sent again immediately.
        case refused(Exchange)
        case failed(Exchange, HTTPFailure)
    }

    /// The most bytes that a response's header fields may take together, as RFC 9113 counts them.
    static let headerLimit = 65_536

    private(set) var budget: StreamBudget
    /// How many requests the peer has answered.
    private(set) var answered = 0

    private var streams: [Int32: RequestStream] = [:]
    /// Requests that have not begun to go out.
    private var unsent = StreamQueue()
    /// Requests whose bodies are under way and that their own windows do not hold back.
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
    /// The highest stream whose HEADERS have gone out; above it all are idle.
    private var lastSent: Int32 = 0
    /// What the peer's GOAWAY said is the last stream it will answer.
    private var lastProcessed: Int32?
    /// Nothing but control frames goes out any more: this side has said GOAWAY.
    private var hasSaidGoodbye = false
    private var isAbandoned = false
    private var nextStreamID: Int32 = 1
    private var finished: Deque<Finished> = []

    /// Queues the connection preface and this side's SETTINGS; nil without memory.
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

    /// Whether the connection has nothing left to say or to hear.
    var isOver: Bool {
        guard control.isEmpty else { return false }
        return hasSaidGoodbye || (budget.isDraining && streams.isEmpty)
    }

    /// In the order of their submission.
    private var openStreams: [RequestStream] { streams.values.sorted { $0.id < $1.id } }

    /// Opens a stream for `exchange`; its frames go out with the next `pump`. False when no stream can be opened, with
    /// nothing done.
    func submit(_ exchange: Exchange, now: Deadline) -> Bool {
        guard budget.free > 0, !hasSaidGoodbye else { return false }
        let stream = RequestStream(exchange, id: nextStreamID, now: now)
        streams[nextStreamID] = stream
        unsent.append(stream)
        budget.opened(streamID: nextStreamID)
        nextStreamID += 2
        return true
    }

    /// The next request that has ended, in their order.
    func nextFinished() -> Finished? { finished.popFirst() }

    /// Gives up requests whose deadline has passed: their streams are reset and they finish as timed out. Returns the
    /// soonest deadline left, and when the earliest of those given up had been sent.
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

    /// Says GOAWAY with the next `pump`, and nothing after it.
    func sayGoodbye(_ code: HTTP2ErrorCode = .noError) {
        guard !hasSaidGoodbye else { return }
        hasSaidGoodbye = true
        budget.drain()
        control.goAway(code)
    }

    /// The connection is gone: every open stream finishes, as refused where the peer has said or cannot but have left
    /// it unprocessed, else as failed for `reason`. No byte goes in or out any more.
    func abandon(_ reason: HTTPFailure.Reason) {
        isAbandoned = true
        budget.drain()
        control.removeAll()
        for stream in openStreams {
            if stream.isSent { fail(stream, reason) } else { refuse(stream) }
        }
    }

    /// Its HEADERS go out now.
    private func markSent(_ stream: RequestStream) {
        stream.isSent = true
        lastSent = stream.id
        budget.startedSending()
    }

    // Each of the following ends one stream.

    /// The answer is complete. A request body that is still under way is of no more use.
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
    ///   - code: With which to reset it, when the peer does not know yet.
    private func fail(_ stream: RequestStream, _ reason: HTTPFailure.Reason, reset code: HTTP2ErrorCode? = nil) {
        let isSent = stream.isSent
        if let code, isSent {
            control.reset(streamID: stream.id, code)
            resetStreams.insert(stream.id)
        }
        finished.append(.failed(close(stream), HTTPFailure(reason, mayHaveBeenProcessed: isSent)))
    }

    private func close(_ stream: RequestStream) -> Exchange {
        if stream.isSent { sending.remove(stream) } else { unsent.remove(stream) }
        budget.closed(wasSent: stream.isSent)
        allowance.streamEnded()
        streams[stream.id] = nil
        return stream.exchange
    }

    /// Of this side, for all answers together.
    private static let receiveWindowSize = 1 << 20

    // MARK: Sending

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

    /// Sends a request's HEADERS. False when it has to wait: as long as the peer has seen nothing of it, it can still
    /// be taken elsewhere.
    private func start(_ stream: RequestStream, to buffer: inout ByteBuffer) -> Bool {
        guard budget.sent < budget.allowed else { return false }
        guard stream.bodyCount == 0 || connectionWindow > 0 else { return false }
        unsent.remove(stream)
        markSent(stream)
        frames.writeHeaders(of: stream, to: &buffer)
        if !stream.isRequestComplete { sending.append(stream) }
        return true
    }

    /// The most DATA that the peer takes on the connection, all streams together.
    private var connectionWindow: Int { sendWindow.available(initially: SendWindow.connectionSize) }

    /// Sends a piece of a request's body. False when it has to wait for the connection's window.
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
        // What waits for its own window comes back with a WINDOW_UPDATE or SETTINGS.
        if count == left || count <= 0 { sending.remove(stream) }
        return true
    }

    // MARK: Receiving

    /// Takes in what the peer sent. False when the connection is beyond repair; what to tell the peer about it goes out
    /// with the next `pump`.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard !isAbandoned else { return false }
        // What a peer says after it was left is not heard.
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
        // Switched off in this side's SETTINGS.
        case .pushPromise: throw .connection(.protocolError)
        case nil: break
        }
    }

    /// The open stream of a frame that only comes on streams; nil when it is one whose frames are passed over.
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
        // What the peer has still under way on it, if anything, it has taken back itself.
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
        // It may only be taken back, as requests beyond it have already been sent elsewhere (RFC 9113, section 6.8).
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

    /// The peer's initial window changed, and with it that of every stream (RFC 9113, section 6.9.2).
    private func windowsMoved() throws(HTTP2Violation) {
        for stream in openStreams {
            guard stream.sendWindow.available(initially: settings.peer.initialWindowSize) <= SendWindow.maximum
            else {
                throw .connection(.flowControlError)
            }
            resume(stream)
        }
    }

    /// Lines up again what may have waited for its stream's window.
    private func resume(_ stream: RequestStream) {
        guard stream.isSent, !stream.isRequestComplete,
            stream.sendWindow.available(initially: settings.peer.initialWindowSize) > 0
        else { return }
        sending.append(stream)
    }
}
