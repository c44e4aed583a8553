import NIOCore

/// Tells when bytes come and no message gets complete: whoever sends a byte a minute holds a connection and a buffer
/// for as long as he likes, and is never silent.
final class MessageDeadline: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// The event that the pipeline behind this is told.
    struct Passed: Sendable {}

    /// What became of the bytes that came. Of one event loop.
    final class Progress {
        fileprivate var messages: UInt64 = 0
        fileprivate var frames: UInt64 = 0
        /// Whether a message has begun of which further frames are to come.
        fileprivate var isWithinMessage = false

        /// A frame is complete that its message goes on behind.
        func fragmentIsComplete() {
            frames &+= 1
            isWithinMessage = true
        }

        /// A frame is complete that may come between those of a message, and is none of them.
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
        // What these bytes complete is complete when this returns.
        context.fireChannelRead(data)
        let hasMessage = progress.messages != messagesSeen
        let hasFrame = progress.frames != framesSeen
        (messagesSeen, framesSeen) = (progress.messages, progress.frames)
        // A ping ends the wait that its own bytes began, and not that for the message which it came in between.
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
