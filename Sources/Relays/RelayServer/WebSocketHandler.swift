import Core
import Listeners
import Logging
import NIOCore
import NIOHTTP1
import NIOWebSocket
import Nostr

/// The shell around ``RelayConnection``: reads and writes frames, and submits all events of a read together. It stops
/// reading while too much is in progress or responses are unread. Bound to its channel's event loop.
final class WebSocketHandler: ChannelDuplexHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundIn = Never
    typealias OutboundOut = WebSocketFrame

    private var connection: RelayConnection
    private let backend: any RelayBackend
    /// The client's address; nil for a proxy that names no client.
    private let client: String?
    private let audience: LiveAudience
    /// The progress of messages.
    let progress = MessageDeadline.Progress()
    private let activity: SocketActivity
    private let now: @Sendable () -> Timestamp
    private var batch: [[UInt8]] = []
    private var pinged = false
    private var closing = false
    private var readPending = false
    /// Whether reading was paused since the last late message.
    private var heldBack = false
    /// Whether the client has read no responses for the idle timeout.
    private var stuck = false

    init(
        connection: RelayConnection,
        backend: any RelayBackend,
        client: String? = nil,
        audience: LiveAudience,
        activity: SocketActivity,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.connection = connection
        self.backend = backend
        self.client = client
        self.audience = audience
        self.activity = activity
        self.now = now
    }

    func handlerAdded(context: ChannelHandlerContext) {
        audience.join(self, context: context)
        if context.channel.isActive { send([connection.greeting], context: context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        audience.leave(self, context: context)
    }

    /// Sends the new events that match the client's subscriptions.
    func send(_ events: [LiveEvent], context: ChannelHandlerContext) {
        let messages = events.flatMap(connection.messages)
        if !messages.isEmpty { send(messages, context: context) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !closing else { return }
        pinged = false
        let frame = unwrapInboundIn(data)
        switch frame.opcode {
        case .text:
            progress.messageIsComplete()
            let now = now()
            activity.noteMessage(at: now)
            let text = Array(buffer: frame.unmaskedData)
            // RFC 6455, section 8.1.
            guard (try? UTF8Span(validating: text.span)) != nil else {
                return close(.dataInconsistentWithMessage, context: context)
            }
            handle(connection.receive(text, now: now), context: context)
            if connection.isProven { activity.keepPlace() }
        case .binary:
            progress.messageIsComplete()
            close(.unacceptableData, context: context)
        case .connectionClose:
            progress.messageIsComplete()
            close(.normalClosure, context: context)
        default:
            progress.controlFrameIsComplete()
            handle(connection.receive(controlFrameOf: frame.length, now: now()), context: context)
            if frame.opcode == .ping { answer(ping: frame, context: context) }
        }
    }

    private func answer(ping: WebSocketFrame, context: ChannelHandlerContext) {
        guard !closing else { return }
        // Flushed at the end of the read, so that a thousand pings do not cause a thousand segments.
        context.write(wrapOutboundOut(WebSocketFrame(fin: true, opcode: .pong, data: ping.unmaskedData)), promise: nil)
        limitUnread(context: context)
    }

    private func partOfMessage(context: ChannelHandlerContext) {
        guard !closing else { return }
        pinged = false
        progress.fragmentIsComplete()
        // Its bytes are counted with the message.
        handle(connection.receive(controlFrameOf: 0, now: now()), context: context)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        submitBatch(context: context)
        context.flush()
        context.fireChannelReadComplete()
    }

    func read(context: ChannelHandlerContext) {
        guard mayRead(context) else {
            readPending = true
            heldBack = true
            return
        }
        context.read()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        stuck = false
        resumeReading(context: context)
        context.fireChannelWritabilityChanged()
    }

    private func mayRead(_ context: ChannelHandlerContext) -> Bool {
        !closing && connection.work.hasRoom && context.channel.isWritable
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is MessageDeadline.Passed { return messageIsLate(context: context) }
        if event is FrameRules.Fragment { return partOfMessage(context: context) }
        if event is EvictionEvent { return giveWay(context: context) }
        guard event is IdleStateHandler.IdleStateEvent else { return context.fireUserInboundEventTriggered(event) }
        guard context.channel.isWritable else {
            guard !stuck else { return context.close(promise: nil) }
            stuck = true
            return
        }
        // A connection that the router does not read from is not silent.
        guard connection.work.hasRoom else { return }
        guard !pinged else { return context.close(promise: nil) }
        pinged = true
        context.writeAndFlush(
            wrapOutboundOut(WebSocketFrame(fin: true, opcode: .ping, data: ByteBuffer())),
            promise: nil
        )
    }

    private func giveWay(context: ChannelHandlerContext) {
        let sentence = "too many connections are open, and this one was idle; reconnect later"
        send([.notice(MachineReadablePrefix.rateLimited.message(sentence))], context: context)
        // Try again later.
        close(WebSocketErrorCode(codeNumber: 1013), context: context)
    }

    /// Closes the connection because of a late message, unless the router paused reading.
    private func messageIsLate(context: ChannelHandlerContext) {
        let isOurDoing = heldBack || !mayRead(context)
        heldBack = false
        if !isOurDoing { close(.policyViolation, context: context) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let code = WebSocketErrorCode(closingAfter: error) else { return context.close(promise: nil) }
        close(code, context: context)
    }

    private func handle(_ action: RelayConnection.Action, context: ChannelHandlerContext) {
        switch action {
        case .send(let messages):
            send(messages, context: context)
        case .submit(let event):
            batch.append(event)
        case .query(let subscription, let filters, let authenticated):
            query(subscription, filters, authenticated, context: context)
        case .disconnect:
            close(.policyViolation, context: context)
        case .nothing:
            break
        }
    }

    private func submitBatch(context: ChannelHandlerContext) {
        guard !batch.isEmpty else { return }
        let events = batch
        batch.removeAll(keepingCapacity: true)
        let bytes = events.reduce(0) { $0 + $1.count }
        let loop = context.eventLoop
        let bound = NIOLoopBound((self, context), eventLoop: loop)
        backend.submit(events, authenticated: connection.authentication.publicKeys, client: client) { answers in
            loop.execute {
                let (handler, context) = bound.value
                let queries = handler.connection.answered(events: events.count, bytes: bytes, answers)
                if handler.connection.isProven { handler.activity.keepPlace() }
                handler.send(zip(answers, events).map { $0.relayMessage(to: $1) }, context: context)
                for query in queries { handler.handle(query, context: context) }
                handler.resumeReading(context: context)
            }
        }
    }

    private func query(
        _ subscription: SubscriptionID,
        _ filters: [Filter],
        _ authenticated: Set<PublicKey>,
        context: ChannelHandlerContext
    ) {
        let promise = context.eventLoop.makePromise(of: [[UInt8]].self)
        let backend = backend
        promise.completeWithTask { await backend.storedEvents(matching: filters, authenticated: authenticated) }
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        promise.futureResult.whenSuccess { events in
            let (handler, context) = bound.value
            let messages = events.map { RelayMessage.event(subscription, json: $0) }
            handler.send(messages + [.endOfStoredEvents(subscription)], context: context)
            for query in handler.connection.work.answeredQuery() { handler.handle(query, context: context) }
            handler.resumeReading(context: context)
        }
    }

    private func resumeReading(context: ChannelHandlerContext) {
        guard readPending, mayRead(context) else { return }
        readPending = false
        context.read()
    }

    private func send(_ messages: [RelayMessage], context: ChannelHandlerContext) {
        guard context.channel.isActive, !closing else { return }
        for message in messages {
            let buffer = context.channel.allocator.buffer(bytes: message.json)
            context.write(wrapOutboundOut(WebSocketFrame(fin: true, opcode: .text, data: buffer)), promise: nil)
        }
        context.flush()
        limitUnread(context: context)
    }

    /// Closes the connection of a client that sends requests but does not read the responses.
    private func limitUnread(context: ChannelHandlerContext) {
        guard !context.channel.isWritable, !closing else { return }
        let waiting = try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)
        guard let waiting, waiting > connection.limits.unreadBytes.bytes else { return }
        closing = true
        context.close(promise: nil)
    }

    private func close(_ code: WebSocketErrorCode, context: ChannelHandlerContext) {
        guard !closing else { return }
        closing = true
        var buffer = context.channel.allocator.buffer(capacity: 2)
        buffer.write(webSocketErrorCode: code)
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        // A client that does not read would never see the close frame.
        context.eventLoop.scheduleTask(in: TimeAmount(connection.limits.handshakeTimeout)) {
            bound.value.close(promise: nil)
        }
        context.writeAndFlush(wrapOutboundOut(WebSocketFrame(fin: true, opcode: .connectionClose, data: buffer)))
            .whenComplete { _ in bound.value.close(promise: nil) }
    }
}

/// Detects a message that does not complete although bytes arrive. A client that sends a byte a minute is never silent
/// and would otherwise hold a connection and a buffer indefinitely.
final class MessageDeadline: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// The pipeline event for a late message.
    struct Passed: Sendable {}

    /// The completed messages and frames. Used on one event loop.
    final class Progress {
        fileprivate var messages: UInt64 = 0
        fileprivate var frames: UInt64 = 0
        /// Whether a message has started and more of its frames are outstanding.
        fileprivate var isWithinMessage = false

        /// Notes a complete frame whose message continues.
        func fragmentIsComplete() {
            frames &+= 1
            isWithinMessage = true
        }

        /// Notes a complete control frame. It may arrive between the frames of a message.
        func controlFrameIsComplete() { frames &+= 1 }

        /// Notes a complete message, and with it a frame.
        func messageIsComplete() {
            frames &+= 1
            messages &+= 1
            isWithinMessage = false
        }
    }

    private let timeout: TimeAmount
    private let progress: Progress
    private var messagesSeen: UInt64 = 0
    private var framesSeen: UInt64 = 0
    private var timer: Scheduled<Void>?

    /// `timeout` is the time limit for one message.
    init(timeout: TimeAmount, progress: Progress) {
        self.timeout = timeout
        self.progress = progress
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // When this returns, all messages that these bytes complete are counted.
        context.fireChannelRead(data)
        let hasMessage = progress.messages != messagesSeen
        let hasFrame = progress.frames != framesSeen
        (messagesSeen, framesSeen) = (progress.messages, progress.frames)
        // A ping ends the wait that its own bytes started, but not the wait for a message around it.
        if hasMessage || hasFrame && !progress.isWithinMessage { stop() }
        if timer == nil, progress.isWithinMessage || !hasFrame { start(context) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        stop()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        stop()
    }

    private func start(_ context: ChannelHandlerContext) {
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        timer = context.eventLoop.scheduleTask(in: timeout) {
            let (deadline, context) = bound.value
            deadline.start(context)
            context.fireUserInboundEventTriggered(Passed())
        }
    }

    private func stop() {
        timer?.cancel()
        timer = nil
    }
}
