import Glibc
import NIOCore

/// Which requests say whom they are for.
package enum HostField {
    /// Whether a request may have so many Host fields (RFC 9112, section 3.2): one, or none before HTTP/1.1.
    package static func permits(_ count: Int, isBefore11: Bool) -> Bool { count == 1 || count == 0 && isBefore11 }
}

/// Closes a connection whose client does not read its answers: the server's own idle timer stops while a request is in
/// work, and a request whose answer cannot be written would stay in work.
package final class UnreadAnswersGuard: ChannelInboundHandler, RemovableChannelHandler {
    package typealias InboundIn = NIOAny
    package typealias InboundOut = NIOAny

    private let patience: TimeAmount
    private var timer: Scheduled<Void>?

    /// Closes the connection when nothing can be written for `patience`.
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

/// Why a server of ours cannot listen, as the end of a sentence that names the address.
package struct ListenError: Error, CustomStringConvertible {
    package let description: String

    package init(_ cause: any Error) {
        description = Self.reason(cause)
    }

    private static func reason(_ error: any Error) -> String {
        switch (error as? IOError)?.errnoCode {
        case EADDRINUSE?: "another program listens there"
        case EADDRNOTAVAIL?: "this machine does not have that address"
        case EACCES?: "this user may not; ports below 1024 need CAP_NET_BIND_SERVICE"
        case let code?: String(cString: strerror(code))
        case nil: "expected an address of this machine, such as 127.0.0.1 or [::], or a name that stands for one"
        }
    }
}
