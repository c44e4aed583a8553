import NIOCore

/// Closes a connection that is one too many.
package final class ConnectionGate: ChannelInboundHandler, RemovableChannelHandler {
    package typealias InboundIn = NIOAny
    package typealias InboundOut = NIOAny

    private let admit: (String) -> Bool
    private let leave: @Sendable (String) -> Void
    private var isCounted = false

    /// `admit` counts a connection from an address, or refuses it; `leave` counts one less.
    package init(admit: @escaping (String) -> Bool, leave: @escaping @Sendable (String) -> Void) {
        self.admit = admit
        self.leave = leave
    }

    package func handlerAdded(context: ChannelHandlerContext) {
        guard context.channel.isActive, !isAdmitted(context.channel) else { return }
        // Whoever builds this pipeline is not done with it.
        let channel = context.channel
        channel.eventLoop.execute { channel.close(promise: nil) }
    }

    package func channelActive(context: ChannelHandlerContext) {
        guard isAdmitted(context.channel) else {
            context.close(promise: nil)
            return
        }
        context.fireChannelActive()
    }

    private func isAdmitted(_ channel: any Channel) -> Bool {
        guard !isCounted else { return true }
        let address = ClientAddress.plain(channel.remoteAddress?.ipAddress ?? "")
        guard admit(address) else { return false }
        isCounted = true
        channel.closeFuture.whenComplete { [leave] _ in leave(address) }
        return true
    }
}
