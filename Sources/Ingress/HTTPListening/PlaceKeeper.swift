internal import HTTPTypes
internal import Listening
internal import NIOCore
import NIOHTTPTypes
import Units

/// Asks for a connection's place, and keeps it while a request is in work. Closes a connection whose client does not
/// send a request in time.
///
/// Before its whole request has arrived a connection counts as silent: it gives way when places run out.
final class PlaceKeeper: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    enum Place {
        case usual
        /// Only for requests that are short and important.
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
    /// Whole requests, and responses, so far.
    private var (requests, responses) = (0, 0)

    /// - Parameters:
    ///   - headTimeout: How long a client may take to the end of its first header.
    ///   - mayUseReserve: Whether a request for this path may use a place of the reserve.
    ///   - now: The wall clock.
    ///   - admit: Gives a connection a place; nil: there is none.
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
        // Not before this pipeline is complete.
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
