import Glibc
import NIOCore
import NIOSSL
import NIOTLS

/// The last handler of a connection's channel, behind TLS: passes bytes and events to its `HTTP2Connection`, and frames
/// back.
final class ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let connection: HTTP2Connection
    private var context: ChannelHandlerContext?
    private var buffer = ByteBuffer()

    init(connection: HTTP2Connection) {
        self.connection = connection
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        // It grows where much is sent.
        buffer = context.channel.allocator.buffer(capacity: ConnectionHandler.firstSize)
        connection.attach(self)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        connection.channelClosed()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted(let negotiated)? = event as? TLSUserEvent {
            connection.handshakeCompleted(negotiated: negotiated)
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        unwrapInboundIn(data).withUnsafeReadableBytes { connection.received($0) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        connection.readCompleted()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { connection.flush() }
    }

    func channelInactive(context: ChannelHandlerContext) {
        connection.channelClosed()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        connection.failed(TLSFlaw(error, in: context).reason)
        context.close(promise: nil)
    }

    /// Sends the frames of `session` while the channel accepts them: first a piece with which the peer can begin, and
    /// then larger ones, as each costs a call of the system.
    func send(_ session: HTTP2Session) {
        guard let context else { return }
        var more = true
        var size = ConnectionHandler.firstPiece
        while more, context.channel.isWritable {
            buffer.clear()
            more = session.pump(into: &buffer, upTo: size)
            size = ConnectionHandler.furtherPiece
            guard buffer.readableBytes > 0 else { return }
            context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
        }
    }

    func close() {
        context?.close(promise: nil)
    }

    private static let firstSize = 1_024
    /// A piece and the request that goes beyond it fit in TLS records of 16 KiB, mostly.
    private static let firstPiece = 15_872
    private static let furtherPiece = 3 * 16_384 - 512
}

/// What an error in a channel means for TLS.
package struct TLSFlaw {
    /// Nil when the error is not from TLS.
    package let reason: HTTPFailure.Reason?

    package init(_ error: any Error, in context: ChannelHandlerContext) {
        switch error {
        case let error as NIOSSLExtraError:
            reason = error == .failedToValidateHostname ? .tlsName : .tls
        // BoringSSL tells no more than this, but the certificate is available.
        case NIOSSLError.handshakeFailed(let cause) where "\(cause)".contains("CERTIFICATE_VERIFY_FAILED"):
            let handler = try? context.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)
            reason = handler?.peerCertificate?.isValid(at: time(nil)) == false ? .tlsExpired : .tlsUntrusted
        default:
            reason = error is NIOSSLError || error is BoringSSLError ? .tls : nil
        }
    }
}

extension NIOSSLCertificate {
    fileprivate func isValid(at time: time_t) -> Bool { notValidBefore <= time && time <= notValidAfter }
}
