import CNghttp2
import NIOCore

/// The client's side of one HTTP/2 connection (RFC 9113), bytes in and bytes out, on nghttp2.
///
/// Belongs to one event loop. It answers for a request only when its stream has closed, through `takeFinished`, so that
/// each request is answered for once whatever frames a peer invents.
final class HTTP2Session {
    /// What became of a request.
    enum Finished {
        case answered(Exchange, HTTPResponse)
        /// The peer has not processed it; it may be sent again at once.
        case refused(Exchange)
        case failed(Exchange, HTTPFailure)
    }

    var budget: StreamBudget
    private(set) var hasPeerSettings = false
    private(set) var answered = 0
    var lastProcessedByGoAway: Int32?

    private let allocator = FreelistAllocator()
    private let session: OpaquePointer
    private var open: [StreamSlot] = []
    private var spare: [StreamSlot] = []
    private var finished: [Finished] = []
    private var isAbandoned = false

    /// Queues the connection preface and this side's SETTINGS; nil when nghttp2 has no memory.
    init?(streamLimit: Int) {
        budget = StreamBudget(ceiling: streamLimit)
        var callbacks: OpaquePointer?
        guard nghttp2_session_callbacks_new(&callbacks) == 0, let callbacks else { return nil }
        defer { nghttp2_session_callbacks_del(callbacks) }
        HTTP2Session.install(in: callbacks)
        let context = UnsafeMutablePointer<Unmanaged<HTTP2Session>?>.allocate(capacity: 1)
        context.initialize(to: nil)
        var memory = allocator.functions
        var created: OpaquePointer?
        guard nghttp2_session_client_new3(&created, callbacks, context, nil, &memory) == 0, let created else {
            context.deallocate()
            return nil
        }
        session = created
        self.context = context
        context.pointee = Unmanaged.passUnretained(self)
        guard announce() else { return nil }
    }

    /// Where nghttp2's callbacks find this object: it does not exist yet when the session is made.
    private let context: UnsafeMutablePointer<Unmanaged<HTTP2Session>?>

    deinit {
        nghttp2_session_del(session)
        context.deallocate()
    }

    /// Whether the connection has nothing left to say or to hear.
    var isOver: Bool { nghttp2_session_want_read(session) == 0 && nghttp2_session_want_write(session) == 0 }

    /// Opens a stream for `exchange`; its frames go out with the next `pump`. False when no stream can be opened, with
    /// nothing done.
    func submit(_ exchange: Exchange, now: Int64) -> Bool {
        guard budget.free > 0 else { return false }
        let slot = spare.popLast() ?? StreamSlot()
        slot.load(exchange, now: now)
        let pointer = Unmanaged.passUnretained(slot).toOpaque()
        var provider = nghttp2_data_provider()
        provider.source.ptr = pointer
        provider.read_callback = HTTP2Session.readBody
        let streamID = slot.fields.withUnsafeBufferPointer { fields in
            exchange.request.body.isEmpty
                ? nghttp2_submit_request(session, nil, fields.baseAddress, fields.count, nil, pointer)
                : nghttp2_submit_request(session, nil, fields.baseAddress, fields.count, &provider, pointer)
        }
        guard streamID > 0 else {
            recycle(slot)
            budget.drain()
            return false
        }
        slot.streamID = streamID
        slot.index = open.count
        open.append(slot)
        budget.opened(streamID: streamID)
        return true
    }

    /// Takes in what the peer sent. False when the connection is beyond repair.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard !isAbandoned else { return false }
        let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        return nghttp2_session_mem_recv(session, base, bytes.count) == bytes.count
    }

    /// Appends frames to `buffer` until it holds about `size` bytes. True when there may be more.
    func pump(into buffer: inout ByteBuffer, upTo size: Int) -> Bool {
        while buffer.readableBytes < size, !isAbandoned {
            var frame: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(session, &frame)
            guard count > 0, let frame else { return false }
            buffer.writeBytes(UnsafeRawBufferPointer(start: frame, count: count))
        }
        return !isAbandoned
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
        for slot in open {
            guard let exchange = slot.exchange else { continue }
            if exchange.deadline > now {
                next = min(next ?? .max, exchange.deadline)
                continue
            }
            earliest = min(earliest ?? .max, slot.submittedAt)
            slot.exchange = nil
            finished.append(.failed(exchange, HTTPFailure(.timeout, mayHaveBeenProcessed: !slot.wasNeverSent)))
            reset(slot)
        }
        return (next, earliest)
    }

    func ping() {
        nghttp2_submit_ping(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil)
    }

    /// Says GOAWAY with the next `pump`.
    func sayGoodbye() {
        budget.drain()
        nghttp2_session_terminate_session(session, NGHTTP2_NO_ERROR.rawValue)
    }

    /// The connection is gone: every open stream finishes, as refused where the peer has said or cannot but have left it
    /// unprocessed, else as failed for `reason`. No byte goes in or out any more, also when this is called by what `pump`
    /// was writing to. The slots stay, for nghttp2 reads from their memory as long as it lives.
    func abandon(_ reason: HTTPFailure.Reason) {
        isAbandoned = true
        budget.drain()
        for slot in open { settle(slot, refused: false, reason) }
    }

    private func announce() -> Bool {
        let settings = [
            nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0),
            nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS.rawValue), value: 0),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue),
                value: UInt32(HTTP2Session.headerLimit)
            ),
        ]
        return nghttp2_submit_settings(session, UInt8(NGHTTP2_FLAG_NONE.rawValue), settings, settings.count) == 0
            && nghttp2_session_set_local_window_size(
                session,
                UInt8(NGHTTP2_FLAG_NONE.rawValue),
                0,
                HTTP2Session.connectionWindow
            ) == 0
    }

    // What the callbacks report, from inside `receive` and `pump`.

    func slot(of streamID: Int32) -> StreamSlot? {
        guard let pointer = nghttp2_session_get_stream_user_data(session, streamID) else { return nil }
        return Unmanaged<StreamSlot>.fromOpaque(pointer).takeUnretainedValue()
    }

    func settingsReceived() {
        hasPeerSettings = true
        budget.settingsReceived(
            maxConcurrentStreams: nghttp2_session_get_remote_settings(
                session,
                NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS
            )
        )
    }

    /// The answer is complete. A request body that is still under way is of no more use.
    func answerEnded(_ slot: StreamSlot) {
        slot.isAnswered = true
        if nghttp2_session_get_stream_local_close(session, slot.streamID) == 0 { reset(slot) }
    }

    func reset(_ slot: StreamSlot) {
        nghttp2_submit_rst_stream(
            session,
            UInt8(NGHTTP2_FLAG_NONE.rawValue),
            slot.streamID,
            NGHTTP2_CANCEL.rawValue
        )
    }

    func streamClosed(_ slot: StreamSlot, errorCode: UInt32) {
        guard slot.index < open.count, open[slot.index] === slot else { return }
        budget.closed()
        open.swapAt(slot.index, open.count - 1)
        open[slot.index].index = slot.index
        open.removeLast()
        settle(
            slot,
            refused: errorCode == NGHTTP2_REFUSED_STREAM.rawValue && slot.status == 0,
            slot.wasReset ? .closed : .protocolError
        )
        recycle(slot)
    }

    private func settle(_ slot: StreamSlot, refused: Bool, _ reason: HTTPFailure.Reason) {
        guard let exchange = slot.exchange else { return }
        slot.exchange = nil
        let isBeyondGoAway = lastProcessedByGoAway.map { slot.streamID > $0 } ?? false
        if slot.isAnswered, slot.status >= 200 {
            answered += 1
            finished.append(
                .answered(exchange, HTTPResponse(status: slot.status, headers: slot.headers, body: slot.body))
            )
        } else if refused || isBeyondGoAway || slot.wasNeverSent {
            finished.append(.refused(exchange))
        } else {
            finished.append(.failed(exchange, HTTPFailure(reason, mayHaveBeenProcessed: true)))
        }
    }

    private func recycle(_ slot: StreamSlot) {
        slot.clear()
        spare.append(slot)
    }

    /// What an answer's header fields may take together, in bytes.
    static let headerLimit = 65_536
    private static let connectionWindow: Int32 = 1 << 20
}
