internal import HTTPTypes
internal import NIOCore
import NIOHTTPTypes

/// Closes a connection whose client stops sending while it gets an answer that has no end of its own: it has most
/// likely gone, and nothing else would tell before something can be sent to it.
final class LiveAnswerGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private var isLive = false
    private var isInputClosed = false

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(let head):
            isLive = head.status.kind == .successful && head.headerFields[.contentLength] == nil
            if isLive, isInputClosed { return context.close(promise: promise) }
        case .end: isLive = false
        case .body: break
        }
        context.write(data, promise: promise)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed {
            isInputClosed = true
            if isLive { return context.close(promise: nil) }
        }
        context.fireUserInboundEventTriggered(event)
    }
}
