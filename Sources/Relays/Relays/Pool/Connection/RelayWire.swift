import Core
import HTTPClient
import Listeners
import NIOCore
import NIOWebSocket

/// One WebSocket connection to a relay, as its client: messages out and in, pings, the closing handshake (RFC 6455).
/// Stops reading while its owner is busy. Lives on its channel's event loop.
final class RelayWire: ChannelDuplexHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundIn = Never
    typealias OutboundOut = WebSocketFrame

    private let limits: ConnectionLimits
    private var keepalive: Keepalive
    private var timer: Scheduled<Void>?
    private var context: ChannelHandlerContext?
    private var owner: (any RelayWireOwner)?
    private var failure: ConnectionFailure?
    private var isClosing = false
    private var readPending = false
    private var pacing = ReadPacing()
    /// Texts since the last read was through.
    private var texts = 0
    /// A read that waits for its time.
    private var pacedRead: Scheduled<Void>?
    /// Whether anything was written since the last flush: most reads lead to nothing.
    private var isUnflushed = false
    /// Whether our data was unread at the last check.
    private var isStuck = false
    /// The payload of the last ping that could not be answered yet. Of several pings only the last needs an answer
    /// (section 5.5.3).
    private var owedPong: ByteBuffer?

    init(limits: ConnectionLimits, now: Deadline) {
        self.limits = limits
        keepalive = Keepalive(silence: limits.silence, now: now)
    }

    /// Call this before the first message can come. The owner is released when the connection ends.
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

    /// Resumes reading if the owner wants more again.
    func resume() {
        guard readPending, let context, owner?.wantsMore ?? true else { return }
        readPending = false
        context.read()
    }

    /// Ends the connection because the relay broke the protocol.
    func fail(_ failure: ConnectionFailure) {
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

    /// A text came, in whatever frames.
    func received(_ text: ByteBuffer) {
        guard !isClosing else { return }
        texts += 1
        owner?.received(text)
    }

    /// A message over the limit is being read past; `isNew`: this read began it.
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

    private func close(_ code: WebSocketErrorCode, _ failure: ConnectionFailure?, context: ChannelHandlerContext) {
        guard !isClosing else { return }
        isClosing = true
        self.failure = failure
        var status = context.channel.allocator.buffer(capacity: 2)
        status.write(webSocketErrorCode: code)
        write(.connectionClose, status, context: context)
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        guard failure == nil else {
            // The other side is at fault or is closing: it will send nothing more.
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

    private func abort(_ failure: ConnectionFailure, context: ChannelHandlerContext) {
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

/// Uses a ``RelayWire``. Called on its event loop.
protocol RelayWireOwner: AnyObject {
    /// Whether to read on, or to leave incoming data in the socket.
    var wantsMore: Bool { get }

    /// A text message came.
    func received(_ message: ByteBuffer)

    /// A message over the limit is being read past; `isNew`: this read began it.
    func passes(isNew: Bool)

    /// Everything that could be read at once has been delivered. Returns how many events may concern somebody.
    func receivedAll() -> Int

    /// The connection has ended. Called once; without a failure if we closed it.
    func ended(_ failure: ConnectionFailure?)
}

/// Tells a silent relay from a dead one.
struct Keepalive {
    enum Action: Equatable {
        case nothing
        case ping
        case giveUp
    }

    /// Pings that may stay unanswered.
    private static let patience = 2

    private let silence: Duration
    private var unanswered = 0
    /// When ``tick(now:isListening:)`` has something to do.
    private(set) var nextTick: Deadline

    init(silence: Duration, now: Deadline) {
        self.silence = silence
        self.nextTick = now + silence
    }

    /// The relay sent something.
    mutating func received(now: Deadline) {
        unanswered = 0
        nextTick = now + silence
    }

    /// While we do not read, silence means nothing.
    mutating func tick(now: Deadline, isListening: Bool) -> Action {
        guard now >= nextTick else { return .nothing }
        nextTick = now + silence
        guard isListening else {
            unanswered = 0
            return .nothing
        }
        guard unanswered < Self.patience else { return .giveUp }
        unanswered += 1
        return .ping
    }
}

/// Says when to read on from a relay that says a little very often: each time that its socket is looked at costs more
/// than an event does, so what comes within a short time is read together.
///
/// The moments are the same for all busy relays, so that a thread wakes once for all of its relays. A relay that is not
/// that busy is read at once. Where hardly any event concerns somebody, there are half as many moments.
struct ReadPacing {
    /// From one such moment to the next: how long a busy relay's events may wait in the socket.
    static let pause: Duration = .milliseconds(10)
    /// The same where hardly any of them concerns somebody. A multiple of the other, so that they share moments.
    static let longPause: Duration = .milliseconds(20)
    /// Reads that follow each other faster than that make a relay a busy one.
    private static let fast: Duration = .milliseconds(5)
    /// So many of them in a row.
    private static let streak = 8
    /// A read that brings so much need not wait for more.
    private static let enough = 256
    /// Of so many messages fewer than one concerned somebody.
    private static let fewShare = 32
    /// The last messages that decide about that.
    private static let window = 1_024

    private var lastRead = Deadline.distantPast
    private var lastCount = 0
    private var fastReads = 0
    private var isBusy = false
    /// Of the last messages, how many concerned somebody as far as was seen.
    private var recent = (messages: 0, wanted: 0)

    private var pause: Duration {
        recent.wanted * Self.fewShare < recent.messages ? Self.longPause : Self.pause
    }

    /// A read brought so many messages, and so many of them may concern somebody.
    mutating func noteRead(messages: Int, wanted: Int, now: Deadline) {
        let wait = now - lastRead
        if isBusy {
            // The first wait may be a short one.
            if messages < 2, wait >= pause / 2 { (isBusy, fastReads) = (false, 0) }
        } else {
            fastReads = wait < Self.fast ? fastReads + 1 : 0
            isBusy = fastReads >= Self.streak
        }
        if recent.messages >= Self.window { recent = (recent.messages / 2, recent.wanted / 2) }
        recent = (recent.messages + messages, recent.wanted + wanted)
        (lastRead, lastCount) = (now, messages)
    }

    /// The moment to wait for with the next read; nil: it need not wait.
    func nextRead(now: Deadline) -> Deadline? {
        guard isBusy, lastCount < Self.enough else { return nil }
        let pause = pause.milliseconds
        let next = Deadline(milliseconds: (lastRead.milliseconds / pause + 1) * pause)
        return next > now ? next : nil
    }
}
