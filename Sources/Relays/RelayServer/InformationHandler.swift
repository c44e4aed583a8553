import Listeners
import NIOCore
import NIOHTTP1
import NIOWebSocket

extension HTTPRequestHead {
    var namesOneHost: Bool {
        HostField.permits(headers["host"].count, isBefore11: version == .http1_0)
    }
}

/// The handler of plain HTTP requests on the relay's port. Responds with a document, a page or an error.
final class InformationHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    /// The JSON documents.
    struct Documents {
        /// The NIP-11 document, for requests with its media type.
        var information: [UInt8]
        /// The document for clients that register. It has its own path, so that a browser can be sent there; nil: none
        /// yet.
        var discovery: [UInt8]?
    }

    /// The last part of the path.
    static let discoveryName = "notification-relay.json"

    private let documents: () -> Documents
    private let site: StaticSite?
    private let timeout: TimeAmount
    private var deadline: Scheduled<Void>?
    private var hasAnswered = false
    private var upgradeFailed = false
    /// Whether the client already has too many connections.
    var refusesUpgrade = false

    /// `timeout` is the time limit for the request or the upgrade, and for reading the response.
    ///
    /// `site` are pages for browsers; nil: none.
    init(documents: @escaping () -> Documents, site: StaticSite?, timeout: TimeAmount) {
        self.documents = documents
        self.site = site
        self.timeout = timeout
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        deadline = context.eventLoop.scheduleTask(in: timeout) { bound.value.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        deadline?.cancel()
    }

    /// Answers the first request as soon as its head has arrived, and then closes the connection.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .head(let head) = unwrapInboundIn(data), !hasAnswered else { return }
        hasAnswered = true
        answer(head, context: context)
    }

    /// Closes a connection that was idle or must give way before a request or upgrade.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is IdleStateHandler.IdleStateEvent || event is EvictionEvent else {
            return context.fireUserInboundEventTriggered(event)
        }
        context.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The request itself follows and is answered then.
        guard error is NIOWebSocketUpgradeError else { return context.close(promise: nil) }
        upgradeFailed = true
    }

    private func answer(_ request: HTTPRequestHead, context: ChannelHandlerContext) {
        switch request.method {
        case _ where !request.namesOneHost:
            let sentence = HostField.expectation + "\n"
            respond(.badRequest, "text/plain; charset=utf-8", Array(sentence.utf8), context: context)
        case _ where refusesUpgrade:
            let sentence = "rate-limited: too many connections from your address\n"
            respond(.tooManyRequests, "text/plain; charset=utf-8", Array(sentence.utf8), context: context)
        case _ where upgradeFailed:
            let sentence = "Expected a WebSocket upgrade of version 13 with one key.\n"
            respond(.badRequest, "text/plain; charset=utf-8", Array(sentence.utf8), context: context)
        case .GET where request.headers["accept"].contains { $0.contains("application/nostr+json") }:
            respond(.ok, "application/nostr+json", documents().information, context: context)
        case _ where site != nil && answerFromSite(request, context: context):
            break
        case .GET where Self.isForDiscovery(request.uri):
            guard let document = documents().discovery else {
                return respond(.notFound, "text/plain; charset=utf-8", Array("Not yet.\n".utf8), context: context)
            }
            respond(.ok, "application/json", document, context: context)
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

    /// Returns false if the request is not for a page.
    private func answerFromSite(_ request: HTTPRequestHead, context: ChannelHandlerContext) -> Bool {
        let answer = site?.answer(
            method: request.method.rawValue,
            target: request.uri,
            knownTags: request.headers["if-none-match"]
        )
        guard let answer else { return false }
        var headers = HTTPHeaders(answer.headers.map { ($0.name, $0.value) })
        headers.add(name: "connection", value: "close")
        if let body = answer.body { headers.add(name: "content-length", value: String(body.count)) }
        let status = HTTPResponseStatus(statusCode: answer.status)
        send(status, headers, answer.isHeadAlone ? [] : answer.body ?? [], context: context)
        return true
    }

    /// Matches any path prefix that a proxy adds.
    private static func isForDiscovery(_ target: String) -> Bool {
        target.prefix { $0 != "?" }.split(separator: "/").last.map { $0 == discoveryName } ?? false
    }

    private func respond(
        _ status: HTTPResponseStatus,
        _ contentType: String?,
        _ body: [UInt8],
        context: ChannelHandlerContext
    ) {
        // NIP-11 requires CORS, so that clients in a browser can read the document.
        var headers: HTTPHeaders = [
            "access-control-allow-origin": "*",
            "access-control-allow-headers": "*",
            "access-control-allow-methods": "GET, OPTIONS",
            "connection": "close",
        ]
        if let contentType { headers.add(name: "content-type", value: contentType) }
        if status != .noContent { headers.add(name: "content-length", value: String(body.count)) }
        send(status, headers, body, context: context)
    }

    /// Sends a response and then closes the connection.
    private func send(
        _ status: HTTPResponseStatus,
        _ headers: HTTPHeaders,
        _ body: [UInt8],
        context: ChannelHandlerContext
    ) {
        context.write(
            wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers))),
            promise: nil
        )
        context.write(wrapOutboundOut(.body(.byteBuffer(context.channel.allocator.buffer(bytes: body)))), promise: nil)
        let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in bound.value.close(promise: nil) }
    }
}
