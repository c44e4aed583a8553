import Core
import HTTPClient
import Listeners
import NIOCore
import NIOWebSocket

/// A client WebSocket connection to a relay: messages in both directions, pings and the closing handshake (RFC 6455).
/// Stops reading while its owner is busy. Bound to its channel's event loop.
final class RelayWire: ChannelDuplexHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundIn = Never
    typealias OutboundOut = WebSocketFrame

    private let limits: ConnectionLimits
    private var keepalive: Keepalive
    private var timer: Scheduled<Void>?
    private var context: ChannelHandlerContext?
    private var owner: (any RelayWireOwner)?
    private var failure: ConnectionError?
    private var isClosing = false
    private var readPending = false
    private var pacing = ReadPacing()
    /// The number of texts since the last read completed.
    private var texts = 0
    /// A read that waits for its scheduled time.
    private var pacedRead: Scheduled<Void>?
    /// Whether data was written since the last flush. Most reads lead to no write.
    private var isUnflushed = false
    /// Whether the router's data was unread at the last check.
    private var isStuck = false
    /// The payload of the last ping that could not be answered yet. Only the last of several pings needs a response
    /// (section 5.5.3).
    private var owedPong: ByteBuffer?

    init(limits: ConnectionLimits, now: Deadline) {
        self.limits = limits
        keepalive = Keepalive(silence: limits.silence, now: now)
    }

    /// Sets the owner. Call this before the first message can arrive. The owner is released when the connection ends.
    func attach(to owner: any RelayWireOwner) {
        self.owner = owner
    }

    /// Sends one text message with the next ``flush()``.
    func write(_ text: [UInt8]) {
        guard let context, !isClosing else { return }
        write(.text, context.channel.allocator.buffer(bytes: text), context: context)
    }

    func flush() {
        guard let context else { return }
        if isUnflushed {
            isUnflushed = false
            context.flush()
        }
        guard !context.channel.isWritable, !isClosing,
            let unread = try? context.channel.syncOptions?.getOption(.bufferedWritableBytes),
            unread > limits.unreadBytes.bytes
        else { return }
        abort(.unread, context: context)
    }

    /// Resumes reading if the owner wants more data.
    func resume() {
        guard readPending, let context, owner?.wantsMore ?? true else { return }
        readPending = false
        context.read()
    }

    /// Ends the connection because the relay violated the protocol.
    func fail(_ failure: ConnectionError) {
        guard let context else { return }
        close(failure == .tooLarge ? .messageTooLarge : .protocolError, failure, context: context)
    }

    /// Closes the connection with a handshake.
    func close() {
        guard let context else { return }
        close(.normalClosure, nil, context: context)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        scheduleKeepalive(context: context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        end()
    }

    func channelInactive(context: ChannelHandlerContext) {
        context.fireChannelInactive()
        end()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isClosing else {
            if unwrapInboundIn(data).opcode == .connectionClose { context.close(promise: nil) }
            return
        }
        let frame = unwrapInboundIn(data)
        switch frame.opcode {
        case .text: received(frame.unmaskedData)
        case .binary: close(.unacceptableData, .protocolError, context: context)
        case .ping where context.channel.isWritable: write(.pong, frame.unmaskedData, context: context)
        case .ping: owedPong = frame.unmaskedData
        case .connectionClose:
            var status = frame.unmaskedData
            let isTooLong = status.readWebSocketErrorCode() == .messageTooLarge
            close(.normalClosure, isTooLong ? .messageRefused : .closed, context: context)
        default: break
        }
    }

    /// Takes a text, from one or several frames.
    func received(_ text: ByteBuffer) {
        guard !isClosing else { return }
        texts += 1
        owner?.received(text)
    }

    /// Notes that a message over the limit is being skipped. `isNew`: it started with this read.
    func passes(isNew: Bool) {
        if !isClosing { owner?.passes(isNew: isNew) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        let now = context.eventLoop.time
        keepalive.received(now: now)
        let wanted = owner?.receivedAll() ?? 0
        pacing.noteRead(messages: texts, wanted: wanted, now: now)
        texts = 0
        flush()
        context.fireChannelReadComplete()
    }

    func read(context: ChannelHandlerContext) {
        guard !isClosing, pacedRead == nil, let moment = pacing.nextRead(now: context.eventLoop.time) else {
            return readNow(context: context)
        }
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        pacedRead = context.eventLoop.scheduleTask(deadline: NIODeadline(moment)) { bound.value.endPause() }
    }

    private func endPause() {
        pacedRead = nil
        if let context { readNow(context: context) }
    }

    private func readNow(context: ChannelHandlerContext) {
        guard pacedRead == nil else { return }
        if isClosing || owner?.wantsMore ?? true { context.read() } else { readPending = true }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable {
            isStuck = false
            if let owedPong, !isClosing {
                self.owedPong = nil
                write(.pong, owedPong, context: context)
                context.flush()
            }
        }
        context.fireChannelWritabilityChanged()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let code = WebSocketErrorCode(closingAfter: error) else { return abort(.closed, context: context) }
        close(code, code == .messageTooLarge ? .tooLarge : .protocolError, context: context)
    }

    private func scheduleKeepalive(context: ChannelHandlerContext) {
        let wait = max(.milliseconds(1), keepalive.nextTick - context.eventLoop.time)
        let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
        timer = context.eventLoop.scheduleTask(in: .milliseconds(wait.milliseconds)) { bound.value.checkKeepalive() }
    }

    private func checkKeepalive() {
        guard let context, !isClosing else { return }
        switch keepalive.tick(now: context.eventLoop.time, isListening: !readPending) {
        case .nothing:
            break
        case .ping:
            guard context.channel.isWritable || !isStuck else { return abort(.unread, context: context) }
            isStuck = !context.channel.isWritable
            write(.ping, ByteBuffer(), context: context)
            context.flush()
        case .giveUp:
            return abort(.silent, context: context)
        }
        scheduleKeepalive(context: context)
    }

    /// A client's frames are masked (RFC 6455, section 5.3).
    private func write(_ opcode: WebSocketOpcode, _ data: ByteBuffer, context: ChannelHandlerContext) {
        isUnflushed = true
        let frame = WebSocketFrame(fin: true, opcode: opcode, maskKey: .random(), data: data)
        context.write(wrapOutboundOut(frame), promise: nil)
    }

    private func close(_ code: WebSocketErrorCode, _ failure: ConnectionError?, context: ChannelHandlerContext) {
        guard !isClosing else { return }
        isClosing = true
        self.failure = failure
        var status = context.channel.allocator.buffer(capacity: 2)
        status.write(webSocketErrorCode: code)
        write(.connectionClose, status, context: context)
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        guard failure == nil else {
            // The relay violated the protocol or is closing: it sends no more data.
            timer?.cancel()
            context.flush()
            return context.close(promise: nil)
        }
        timer?.cancel()
        timer = context.eventLoop.scheduleTask(in: .milliseconds(limits.leaving.milliseconds)) {
            bound.value.close(promise: nil)
        }
        context.flush()
        if readPending {
            readPending = false
            context.read()
        }
    }

    private func abort(_ failure: ConnectionError, context: ChannelHandlerContext) {
        if !isClosing { self.failure = failure }
        isClosing = true
        context.close(promise: nil)
    }

    private func end() {
        timer?.cancel()
        pacedRead?.cancel()
        pacedRead = nil
        guard context != nil else { return }
        context = nil
        let owner = owner
        self.owner = nil
        owner?.ended(isClosing ? failure : .closed)
    }
}

/// The owner of a ``RelayWire``. Called on its event loop.
protocol RelayWireOwner: AnyObject {
    /// Whether to continue reading. If not, incoming data stays in the socket.
    var wantsMore: Bool { get }

    /// Takes a text message.
    func received(_ message: ByteBuffer)

    /// Notes that a message over the limit is being skipped. `isNew`: it started with this read.
    func passes(isNew: Bool)

    /// Ends a read after all its messages. Returns the number of events that may concern an account.
    func receivedAll() -> Int

    /// Called once when the connection has ended; `failure` is nil if the router closed it.
    func ended(_ failure: ConnectionError?)
}

/// Distinguishes a silent relay from a dead one with pings.
struct Keepalive {
    enum Action: Equatable {
        case nothing
        case ping
        case giveUp
    }

    /// The maximum number of unanswered pings.
    private static let maxFailures = 2

    private let silence: Duration
    private var unanswered = 0
    /// When to call ``tick(now:isListening:)``.
    private(set) var nextTick: Deadline

    init(silence: Duration, now: Deadline) {
        self.silence = silence
        self.nextTick = now + silence
    }

    /// Notes that the relay sent data.
    mutating func received(now: Deadline) {
        unanswered = 0
        nextTick = now + silence
    }

    /// Returns the action at `now`. While the router does not read, silence does not count.
    mutating func tick(now: Deadline, isListening: Bool) -> Action {
        guard now >= nextTick else { return .nothing }
        nextTick = now + silence
        guard isListening else {
            unanswered = 0
            return .nothing
        }
        guard unanswered < Self.maxFailures else { return .giveUp }
        unanswered += 1
        return .ping
    }
}

/// Delays reads from a busy relay, so that messages that arrive within a short time are read together: a socket read
/// costs more than an event.
///
/// All busy relays share the read times, so that a thread wakes once for all its relays. Other relays are read
/// immediately. If hardly any event concerns an account, reads are half as frequent.
struct ReadPacing {
    /// The read interval: the maximum time that a busy relay's events wait in the socket.
    static let pause: Duration = .milliseconds(10)
    /// The interval if hardly any events concern an account. A multiple of ``pause``, so that both share read times.
    static let longPause: Duration = .milliseconds(20)
    /// Reads at shorter intervals count as fast.
    private static let fast: Duration = .milliseconds(5)
    /// The number of consecutive fast reads that make a relay busy.
    private static let streak = 8
    /// A read with at least this number of messages is not delayed.
    private static let enough = 256
    /// ``longPause`` applies if fewer than one in this number of messages concerned an account.
    private static let fewShare = 32
    /// The number of recent messages that decide about the interval.
    private static let window = 1_024

    private var lastRead = Deadline.distantPast
    private var lastCount = 0
    private var fastReads = 0
    private var isBusy = false
    /// The recent messages, and how many of them may have concerned an account.
    private var recent = (messages: 0, wanted: 0)

    private var pause: Duration {
        recent.wanted * Self.fewShare < recent.messages ? Self.longPause : Self.pause
    }

    /// Notes a read: its messages, and how many of them may concern an account.
    mutating func noteRead(messages: Int, wanted: Int, now: Deadline) {
        let wait = now - lastRead
        if isBusy {
            // The first wait may be shorter.
            if messages < 2, wait >= pause / 2 { (isBusy, fastReads) = (false, 0) }
        } else {
            fastReads = wait < Self.fast ? fastReads + 1 : 0
            isBusy = fastReads >= Self.streak
        }
        if recent.messages >= Self.window { recent = (recent.messages / 2, recent.wanted / 2) }
        recent = (recent.messages + messages, recent.wanted + wanted)
        (lastRead, lastCount) = (now, messages)
    }

    /// Returns when to do the next read; nil: immediately.
    func nextRead(now: Deadline) -> Deadline? {
        guard isBusy, lastCount < Self.enough else { return nil }
        let pause = pause.milliseconds
        let next = Deadline(milliseconds: (lastRead.milliseconds / pause + 1) * pause)
        return next > now ? next : nil
    }
}
