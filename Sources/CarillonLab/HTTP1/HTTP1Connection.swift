import NIOCore
import NIOHTTP1

/// One HTTP/1.1 connection: reads requests whole and gives each to whoever decides about it.
final class HTTP1Connection: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart
    typealias Decide = @Sendable (HTTP1Request, any EventLoop) -> EventLoopFuture<HTTP1Conduct>

    /// A body is read up to here, in bytes.
    private static let bodyLimit = 1 << 20

    private let number: Int
    private let decide: Decide
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []
    private var isCut = false

    init(number: Int, decide: @escaping Decide) {
        self.number = number
        self.decide = decide
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body = []
            isCut = false
        case .body(let buffer):
            let room = Self.bodyLimit - body.count
            body.append(contentsOf: buffer.readableBytesView.prefix(room))
            isCut = isCut || buffer.readableBytes > room
        case .end:
            guard let head else { return }
            let request = HTTP1Request(
                method: head.method.rawValue,
                uri: head.uri,
                headers: head.headers.map { LabHeader($0.name.lowercased(), $0.value) },
                body: body,
                isCut: isCut,
                connection: number
            )
            let keepsAlive = head.isKeepAlive
            decide(request, context.eventLoop).assumeIsolated().whenComplete { result in
                switch result {
                case .success(let conduct): self.carryOut(conduct, keepsAlive: keepsAlive, context)
                case .failure: context.close(promise: nil)
                }
            }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func carryOut(_ conduct: HTTP1Conduct, keepsAlive: Bool, _ context: ChannelHandlerContext) {
        switch conduct {
        case .answer(let answer, 0):
            send(answer, keepsAlive: keepsAlive, context)
        case .answer(let answer, let delay):
            context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(Int64(delay))) {
                self.send(answer, keepsAlive: keepsAlive, context)
            }
        case .silence:
            break
        case .close:
            context.close(promise: nil)
        case .cut(let answer):
            context.write(wrapOutboundOut(.head(head(of: answer, stays: true))), promise: nil)
            let half = context.channel.allocator.buffer(bytes: answer.body.prefix(answer.body.count / 2))
            context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(half)))).assumeIsolated().whenComplete { _ in
                context.close(promise: nil)
            }
        }
    }

    private func head(of answer: HTTP1Answer, stays: Bool) -> HTTPResponseHead {
        var headers = HTTPHeaders(answer.headers.map { ($0.name, $0.value) })
        headers.add(name: "content-length", value: String(answer.body.count))
        if !stays {
            headers.add(name: "connection", value: "close")
        }
        return HTTPResponseHead(
            version: .http1_1,
            status: HTTPResponseStatus(statusCode: answer.status),
            headers: headers
        )
    }

    private func send(_ answer: HTTP1Answer, keepsAlive: Bool, _ context: ChannelHandlerContext) {
        let stays = keepsAlive && !answer.closes
        context.write(wrapOutboundOut(.head(head(of: answer, stays: stays))), promise: nil)
        context.write(
            wrapOutboundOut(.body(.byteBuffer(context.channel.allocator.buffer(bytes: answer.body)))),
            promise: nil
        )
        let end = wrapOutboundOut(.end(nil))
        if stays {
            context.writeAndFlush(end, promise: nil)
        } else {
            context.writeAndFlush(end).assumeIsolated().whenComplete { _ in context.close(promise: nil) }
        }
    }
}
