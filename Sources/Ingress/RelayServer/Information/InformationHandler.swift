import NIOCore
import NIOHTTP1
import NIOWebSocket

/// Answers plain HTTP on the relay's port: the NIP-11 document to who asks for it, a sentence to everyone else.
final class InformationHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let document: [UInt8]
    private let patience: TimeAmount
    private var deadline: Scheduled<Void>?
    private var hasAnswered = false
    private var upgradeFailed = false
    /// Whether the client has too many connections to get one more.
    var refusesUpgrade = false

    /// `patience` is how long a client may take to ask, to upgrade, and to read the answer.
    init(document: [UInt8], patience: TimeAmount) {
        self.document = document
        self.patience = patience
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        deadline = context.eventLoop.scheduleTask(in: patience) { bound.value.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        deadline?.cancel()
    }

    /// Answers the first request as soon as its head is here; the connection ends with that.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(let head) = unwrapInboundIn(data), !hasAnswered else { return }
        hasAnswered = true
        answer(head, context: context)
    }

    /// Whoever has not asked or upgraded by now only holds a connection.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is IdleStateHandler.IdleStateEvent else { return context.fireUserInboundEventTriggered(event) }
        context.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The request itself comes after this, and is answered then.
        guard error is NIOWebSocketUpgradeError else { return context.close(promise: nil) }
        upgradeFailed = true
    }

    private func answer(_ request: HTTPRequestHead, context: ChannelHandlerContext) {
        switch request.method {
        case _ where refusesUpgrade:
            let sentence = "rate-limited: too many connections from your address\n"
            respond(.tooManyRequests, "text/plain; charset=utf-8", Array(sentence.utf8), context: context)
        case _ where upgradeFailed:
            let sentence = "Expected a WebSocket upgrade of version 13 with one key.\n"
            respond(.badRequest, "text/plain; charset=utf-8", Array(sentence.utf8), context: context)
        case .GET where request.headers["accept"].contains { $0.contains("application/nostr+json") }:
            respond(.ok, "application/nostr+json", document, context: context)
        case .GET:
            let sentence = "This is a Nostr notification relay. Connect to it with WebSocket.\n"
            respond(.ok, "text/plain; charset=utf-8", Array(sentence.utf8), context: context)
        case .OPTIONS:
            respond(.noContent, nil, [], context: context)
        default:
            respond(
                .methodNotAllowed,
                "text/plain; charset=utf-8",
                Array("Only GET is served here.\n".utf8),
                context: context
            )
        }
    }

    private func respond(
        _ status: HTTPResponseStatus,
        _ contentType: String?,
        _ body: [UInt8],
        context: ChannelHandlerContext
    ) {
        // NIP-11 asks for CORS, so that clients in a browser can read the document.
        var headers: HTTPHeaders = [
            "access-control-allow-origin": "*",
            "access-control-allow-headers": "*",
            "access-control-allow-methods": "GET, OPTIONS",
            "connection": "close",
        ]
        if let contentType { headers.add(name: "content-type", value: contentType) }
        if status != .noContent { headers.add(name: "content-length", value: String(body.count)) }
        context.write(
            wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers))),
            promise: nil
        )
        context.write(wrapOutboundOut(.body(.byteBuffer(context.channel.allocator.buffer(bytes: body)))), promise: nil)
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in bound.value.close(promise: nil) }
    }
}
