import NIOCore

/// Detects that bytes come and no message gets complete: a client that sends a byte a minute holds a connection and a
/// buffer for as long as it likes, and is never silent.
final class MessageDeadline: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// The pipeline event for a late message.
    struct Passed: Sendable {}

    /// What the bytes completed. Used on one event loop.
    final class Progress {
        fileprivate var messages: UInt64 = 0
        fileprivate var frames: UInt64 = 0
        /// Whether a message has begun whose further frames are outstanding.
        fileprivate var isWithinMessage = false

        /// A frame is complete, and further frames of its message follow.
        func fragmentIsComplete() {
            frames &+= 1
            isWithinMessage = true
        }

        /// A control frame is complete. It may come between the frames of a message.
        func controlFrameIsComplete() { frames &+= 1 }

        /// A message is complete, and with it a frame.
        func messageIsComplete() {
            frames &+= 1
            messages &+= 1
            isWithinMessage = false
        }
    }

    private let patience: TimeAmount
    private let progress: Progress
    private var messagesSeen: UInt64 = 0
    private var framesSeen: UInt64 = 0
    private var timer: Scheduled<Void>?

    /// `patience` is how long one message may take.
    init(patience: TimeAmount, progress: Progress) {
        self.patience = patience
        self.progress = progress
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // When this returns, whatever these bytes complete is complete.
        context.fireChannelRead(data)
        let hasMessage = progress.messages != messagesSeen
        let hasFrame = progress.frames != framesSeen
        (messagesSeen, framesSeen) = (progress.messages, progress.frames)
        // A ping ends the wait that its own bytes began, but not the wait for a message around it.
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
        timer = context.eventLoop.scheduleTask(in: patience) {
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
