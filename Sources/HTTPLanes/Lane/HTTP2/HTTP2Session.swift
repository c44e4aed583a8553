import NIOCore

/// The client's side of one HTTP/2 connection (RFC 9113), bytes in and bytes out.
///
/// Belongs to one event loop. Each request that `submit` took comes out of `takeFinished` once, whatever frames a peer
/// invents.
final class HTTP2Session {
    /// What became of a request.
    enum Finished {
        case answered(Exchange, HTTPResponse)
        /// The peer has not processed it; it may be sent again at once.
        case refused(Exchange)
        case failed(Exchange, HTTPFailure)
    }

    private(set) var budget: StreamBudget
    private(set) var answered = 0

    var streams: StreamTable
    /// Requests nothing of which has gone out.
    var unsent = StreamQueue()
    /// Requests whose bodies are under way and that their own windows do not hold back.
    var sending = StreamQueue()
    var encoder = HPACKEncoder()
    var decoder: HPACKDecoder
    var reader = FrameReader()
    var control = ControlFrames()
    var peer = PeerSettings()
    var sendWindow = SendWindow()
    var receiveWindow = ReceiveWindow(size: HTTP2Session.connectionWindow)
    var resetStreams = ResetStreams()
    var hasPeerSettings = false
    /// This side's SETTINGS that the peer has not acknowledged yet.
    var isAckDue = true
    var blockInProgress: FieldBlock?
    var repeated = RepeatedBlock()
    /// The highest stream whose HEADERS have gone out; above it all are idle.
    private(set) var lastSent: Int32 = 0
    /// What the peer's GOAWAY said is the last stream it will answer.
    var lastProcessed: Int32?
    /// Nothing but control frames goes out any more: this side has said GOAWAY.
    private(set) var hasSaidGoodbye = false
    private(set) var isAbandoned = false
    private var nextStreamID: Int32 = 1
    private var finished: [Finished] = []

    /// Queues the connection preface and this side's SETTINGS; nil without memory.
    init?(streamLimit: Int) {
        guard let decoder = HPACKDecoder() else { return nil }
        self.decoder = decoder
        budget = StreamBudget(ceiling: streamLimit)
        streams = StreamTable(expected: streamLimit)
        control.preface()
        control.settings([
            (.enablePush, 0), (.maxConcurrentStreams, 0), (.maxHeaderListSize, UInt32(HTTP2Session.headerLimit)),
        ])
        control.windowUpdate(streamID: 0, by: HTTP2Session.connectionWindow - RequestStream.window)
    }

    /// Whether the connection has nothing left to say or to hear.
    var isOver: Bool {
        guard control.isEmpty else { return false }
        return hasSaidGoodbye || (budget.isDraining && streams.open.isEmpty)
    }

    /// Opens a stream for `exchange`; its frames go out with the next `pump`. False when no stream can be opened, with
    /// nothing done.
    func submit(_ exchange: Exchange, now: Int64) -> Bool {
        guard budget.free > 0, !hasSaidGoodbye else { return false }
        let stream = streams.insert(exchange, id: nextStreamID, now: now)
        unsent.append(stream)
        budget.opened(streamID: nextStreamID)
        nextStreamID += 2
        return true
    }

    /// What has come to an end since the last call.
    func takeFinished() -> [Finished] {
        guard !finished.isEmpty else { return [] }
        defer {
            finished = []
            finished.reserveCapacity(256)
        }
        return finished
    }

    /// Gives up requests whose deadline has passed: their streams are reset and they finish as timed out. Returns the
    /// soonest deadline left, and when the earliest of those given up had been sent.
    func expire(now: Int64) -> (nextDeadline: Int64?, earliestSubmission: Int64?) {
        var next: Int64?
        var earliest: Int64?
        for stream in streams.open {
            let deadline = stream.pointee.deadline
            if deadline > now {
                next = min(next ?? .max, deadline)
                continue
            }
            earliest = min(earliest ?? .max, stream.pointee.submittedAt)
            fail(stream, .timeout, reset: .cancel)
        }
        return (next, earliest)
    }

    func ping() {
        guard !isAbandoned else { return }
        control.ping()
    }

    /// Takes no request any more; those under way may finish.
    func drain() {
        budget.drain()
    }

    /// Says GOAWAY with the next `pump`, and nothing after it.
    func sayGoodbye(_ code: HTTP2ErrorCode = .noError) {
        guard !hasSaidGoodbye else { return }
        hasSaidGoodbye = true
        budget.drain()
        control.goAway(code)
    }

    /// The connection is gone: every open stream finishes, as refused where the peer has said or cannot but have left it
    /// unprocessed, else as failed for `reason`. No byte goes in or out any more, also when this is called by what `pump`
    /// was writing to.
    func abandon(_ reason: HTTPFailure.Reason) {
        isAbandoned = true
        budget.drain()
        control.removeAll()
        for stream in streams.open {
            if stream.pointee.isSent { fail(stream, reason) } else { refuse(stream) }
        }
    }

    func settingsReceived() {
        hasPeerSettings = true
        budget.settingsReceived(maxConcurrentStreams: peer.maxConcurrentStreams)
    }

    /// Its HEADERS go out now.
    func markSent(_ stream: StreamPointer) {
        stream.pointee.isSent = true
        lastSent = stream.pointee.id
        budget.startedSending()
    }

    // Each of the following ends one stream; its pointer is of no use afterwards.

    /// The answer is complete. A request body that is still under way is of no more use.
    func finish(_ stream: StreamPointer, isEndedByPeer: Bool) {
        let id = stream.pointee.id
        if !stream.pointee.isRequestComplete || !isEndedByPeer {
            control.reset(streamID: id, .cancel)
            if !isEndedByPeer { resetStreams.insert(id) }
        }
        let response = stream.pointee.answer.take()
        answered += 1
        finished.append(.answered(close(stream), response))
    }

    func refuse(_ stream: StreamPointer) {
        finished.append(.refused(close(stream)))
    }

    /// - Parameters:
    ///   - stream: The one that fails.
    ///   - reason: Why.
    ///   - code: With which to reset it, when the peer does not know yet.
    func fail(_ stream: StreamPointer, _ reason: HTTPFailure.Reason, reset code: HTTP2ErrorCode? = nil) {
        let isSent = stream.pointee.isSent
        if let code, isSent {
            control.reset(streamID: stream.pointee.id, code)
            resetStreams.insert(stream.pointee.id)
        }
        finished.append(.failed(close(stream), HTTPFailure(reason, mayHaveBeenProcessed: isSent)))
    }

    private func close(_ stream: StreamPointer) -> Exchange {
        if stream.pointee.isSent { sending.remove(stream) } else { unsent.remove(stream) }
        budget.closed(wasSent: stream.pointee.isSent)
        return streams.remove(stream)
    }

    /// What an answer's header fields may take together, in bytes, as RFC 9113 counts them.
    static let headerLimit = 65_536
    /// Of this side, for all answers together.
    private static let connectionWindow = 1 << 20
}
