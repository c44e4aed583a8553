import Core
import Glibc
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypes

/// A channel handler that takes a slot for its connection, and protects the slot while a request is in progress. It
/// closes the connection if the client does not send a request in time.
///
/// Until its whole request has arrived a connection counts as silent: it is evicted first when slots run out.
final class PlaceKeeper: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    enum Place {
        case usual
        /// Only for short and important requests.
        case reserve
    }

    private static let refusal = "too many connections are open: try again later\n"

    private let admit: (any Channel, SocketActivity) -> Place?
    private let mayUseReserve: (_ path: String) -> Bool
    private let headTimeout: TimeAmount
    private let now: () -> Timestamp
    private let activity: SocketActivity
    private var place: Place?
    private var deadline: Scheduled<Void>?
    private var isRefused = false
    /// Complete requests and responses up to now.
    private var (requests, responses) = (0, 0)

    /// - Parameters:
    ///   - headTimeout: Timeout for the end of the client's first header.
    ///   - mayUseReserve: Whether a request for this path may use a reserved slot.
    ///   - now: The wall clock.
    ///   - admit: Gives a connection a slot; nil: none is free.
    init(
        headTimeout: TimeAmount,
        mayUseReserve: @escaping (String) -> Bool,
        now: @escaping () -> Timestamp,
        admit: @escaping (any Channel, SocketActivity) -> Place?
    ) {
        self.headTimeout = headTimeout
        self.mayUseReserve = mayUseReserve
        self.now = now
        self.admit = admit
        activity = SocketActivity(now: now())
    }

    func handlerAdded(context: ChannelHandlerContext) {
        guard context.channel.isActive, !takePlace(context) else { return }
        // Only once this pipeline is complete.
        let channel = context.channel
        channel.eventLoop.execute { channel.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { deadline?.cancel() }

    func channelActive(context: ChannelHandlerContext) {
        guard takePlace(context) else { return context.close(promise: nil) }
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isRefused else { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            deadline?.cancel()
            if place == .reserve, !mayUseReserve(String((head.path ?? "").prefix { $0 != "?" })) {
                return refuse(context)
            }
        case .body: break
        case .end:
            requests += 1
            activity.keepPlace(requests > responses)
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard !isRefused else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        if case .end = unwrapOutboundIn(data) {
            responses += 1
            activity.noteMessage(at: now())
            activity.keepPlace(requests > responses)
        }
        context.write(data, promise: promise)
    }

    private func takePlace(_ context: ChannelHandlerContext) -> Bool {
        if place != nil { return true }
        place = admit(context.channel, activity)
        guard place != nil else { return false }
        let channel = context.channel
        deadline = context.eventLoop.scheduleTask(in: headTimeout) { channel.close(promise: nil) }
        return true
    }

    private func refuse(_ context: ChannelHandlerContext) {
        isRefused = true
        let body = ByteBuffer(string: Self.refusal)
        let fields: HTTPFields = [
            .connection: "close", .contentLength: String(body.readableBytes),
            .contentType: "text/plain; charset=utf-8", .retryAfter: "1",
        ]
        context.write(
            wrapOutboundOut(.head(HTTPResponse(status: .serviceUnavailable, headerFields: fields))),
            promise: nil
        )
        context.write(wrapOutboundOut(.body(body)), promise: nil)
        let channel = context.channel
        context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in channel.close(promise: nil) }
    }
}

/// Answers `Expect: 100-continue` (RFC 9110 section 10.1.1): clients such as curl hold back a longer body until this
/// response or their timeout.
///
/// Sends nothing while an earlier request is unanswered, because the client would take it for the start of that
/// response.
final class ContinueHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private var unanswered = 0

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(let head) = unwrapInboundIn(data) {
            if unanswered == 0, head.headerFields[.expect]?.lowercased() == "100-continue" {
                context.writeAndFlush(wrapOutboundOut(.head(HTTPResponse(status: .continue))), promise: nil)
            }
            unanswered += 1
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) { unanswered -= 1 }
        context.write(data, promise: promise)
    }
}

/// Closes a connection whose client stops sending during an endless response. The client has probably gone, and the
/// next write might come much later.
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

/// Checks of the Host field.
package enum HostField {
    /// The message for a refused request.
    package static let expectation =
        "expected exactly one Host header field, with the name of this server"

    /// Whether a request may have this number of Host fields (RFC 9112, section 3.2): one, or none before HTTP/1.1.
    package static func permits(_ count: Int, isBefore11: Bool) -> Bool { count == 1 || count == 0 && isBefore11 }
}

/// Closes a connection whose client does not read responses. The server's idle timer stops while a request is in
/// progress, and a request with a blocked response would never end.
package final class UnreadAnswersGuard: ChannelInboundHandler, RemovableChannelHandler {
    package typealias InboundIn = NIOAny
    package typealias InboundOut = NIOAny

    private let timeout: TimeAmount
    private var timer: Scheduled<Void>?

    /// Closes the connection if no write succeeds for `timeout`.
    package init(timeout: TimeAmount) {
        self.timeout = timeout
    }

    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        timer?.cancel()
        timer = nil
        if !context.channel.isWritable {
            let channel = context.channel
            timer = context.eventLoop.scheduleTask(in: timeout) { channel.close(promise: nil) }
        }
        context.fireChannelWritabilityChanged()
    }

    package func channelInactive(context: ChannelHandlerContext) {
        timer?.cancel()
        timer = nil
        context.fireChannelInactive()
    }
}

/// The reason why a server cannot listen; completes a sentence that names the address.
package struct ListenError: Error, CustomStringConvertible {
    package let description: String

    package init(_ cause: any Error) {
        description = Self.reason(cause)
    }

    private static func reason(_ error: any Error) -> String {
        switch (error as? IOError)?.errnoCode {
        case EADDRINUSE?: "the address is in use by another program"
        case EADDRNOTAVAIL?: "this machine has no such address"
        case EACCES?: "permission denied; ports below 1024 need CAP_NET_BIND_SERVICE"
        case let code?: String(cString: strerror(code))
        case nil: "expected an address of this machine, such as 127.0.0.1 or [::], or a name that resolves to one"
        }
    }
}

/// Hummingbird's HTTP/1.1 channel that also marks requests to refuse, and handles HTTP/1.0 persistence.
struct HeadChecking: ServerChildChannel {
    /// Checks each head before Hummingbird sees it.
    private final class Rule: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias InboundOut = HTTPServerRequestPart

        private var isOver = false

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard !isOver else { return }
            guard case .head(var head) = unwrapInboundIn(data) else { return context.fireChannelRead(data) }
            head.headers.remove(name: HeadChecking.mark)
            let isPermitted = HostField.permits(head.headers["host"].count, isBefore11: head.version == .http1_0)
            if !isPermitted { head.headers.add(name: HeadChecking.mark, value: "1") }
            Self.setPersistence(of: &head, mustClose: !isPermitted)
            context.fireChannelRead(wrapInboundOut(.head(head)))
            guard !isPermitted else { return }
            // The rest of the connection can no longer be parsed.
            isOver = true
            context.fireChannelRead(wrapInboundOut(.end(nil)))
        }

        /// RFC 9112 section 9.3. Hummingbird compares only the whole field.
        private static func setPersistence(of head: inout HTTPRequestHead, mustClose: Bool) {
            let options = head.headers[canonicalForm: "connection"].map { $0.lowercased() }
            if mustClose || options.contains("close") {
                head.headers.replaceOrAdd(name: "connection", value: "close")
            } else if head.version == .http1_0 {
                let persists = options.contains("keep-alive")
                head.headers.replaceOrAdd(name: "connection", value: persists ? "keep-alive" : "close")
            }
        }
    }

    /// A field name that no client can send.
    private static let mark = "carillon-host-refused"

    let base: HTTP1Channel

    /// Whether the request has no Host field, or two.
    static func refuses(_ request: Request) -> Bool {
        HTTPField.Name(mark).map { request.headers[$0] != nil } ?? false
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
        base.setup(channel: channel, logger: logger).flatMapThrowing { value in
            let pipeline = channel.pipeline.syncOperations
            let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandler(Rule(), position: .after(decoder))
            return value
        }
    }

    func handle(value: HTTP1Channel.Value, logger: Logger) async { await base.handle(value: value, logger: logger) }
}
