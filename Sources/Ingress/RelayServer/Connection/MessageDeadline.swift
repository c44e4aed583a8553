import NIOCore

/// Tells when bytes come and no message gets complete: whoever sends a byte a minute holds a connection and a buffer for as long as
/// he likes, and is never silent.
final class MessageDeadline: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// The event that the pipeline behind this is told.
    struct Passed: Sendable {}

    /// How many messages were complete. Of one event loop.
    final class Progress {
        fileprivate var messages: UInt64 = 0

        func messageIsComplete() { messages &+= 1 }
    }

    private let patience: TimeAmount
    private let progress: Progress
    private var seen: UInt64 = 0
    private var timer: Scheduled<Void>?

    /// `patience` is how long one message may take.
    init(patience: TimeAmount, progress: Progress) {
        self.patience = patience
        self.progress = progress
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // What these bytes complete is complete when this returns.
        context.fireChannelRead(data)
        if progress.messages != seen {
            seen = progress.messages
            stop()
        } else if timer == nil {
            start(context)
        }
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
