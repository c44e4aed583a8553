import NIOCore

/// Closes a connection whose client does not read its answers: the server's own idle timer stands still while a request is in
/// work, and one whose answer cannot be written is in work for ever.
package final class UnreadAnswersGuard: ChannelInboundHandler, RemovableChannelHandler {
    package typealias InboundIn = NIOAny
    package typealias InboundOut = NIOAny

    private let patience: TimeAmount
    private var timer: Scheduled<Void>?

    /// `patience` is how long nothing can be written before the connection is closed.
    package init(patience: TimeAmount) {
        self.patience = patience
    }

    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        timer?.cancel()
        timer = nil
        if !context.channel.isWritable {
            let channel = context.channel
            timer = context.eventLoop.scheduleTask(in: patience) { channel.close(promise: nil) }
        }
        context.fireChannelWritabilityChanged()
    }

    package func channelInactive(context: ChannelHandlerContext) {
        timer?.cancel()
        timer = nil
        context.fireChannelInactive()
    }
}
