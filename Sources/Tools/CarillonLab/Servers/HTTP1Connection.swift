import NIOCore
import NIOHTTP1

/// One HTTP/1.1 connection: reads complete requests and sends the decided responses.
final class HTTP1Connection: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart
    typealias Decide = @Sendable (LabRequest, any EventLoop) -> EventLoopFuture<HTTP1Step>

    /// The longest part of a body that is read, in bytes.
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
            let request = LabRequest(
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
                case .success(let step): self.carryOut(step, keepsAlive: keepsAlive, context)
                case .failure: context.close(promise: nil)
                }
            }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func carryOut(_ step: HTTP1Step, keepsAlive: Bool, _ context: ChannelHandlerContext) {
        switch step {
        case .answer(let answer, 0, let closes):
            send(answer, keepsAlive: keepsAlive && !closes, context)
        case .answer(let answer, let delay, let closes):
            context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(Int64(delay))) {
                self.send(answer, keepsAlive: keepsAlive && !closes, context)
            }
        case .cut(let answer):
            sendHalf(of: answer, context)
        case .silence:
            break
        case .close:
            context.close(promise: nil)
        }
    }

    private func send(_ answer: HTTPAnswer, keepsAlive: Bool, _ context: ChannelHandlerContext) {
        var headers = [LabHeader("content-length", String(answer.body.count))]
        if !keepsAlive {
            headers.append(LabHeader("connection", "close"))
        }
        write(answer, headers, answer.body, context)
        let end = wrapOutboundOut(.end(nil))
        if keepsAlive {
            context.writeAndFlush(end, promise: nil)
        } else {
            context.writeAndFlush(end).assumeIsolated().whenComplete { _ in context.close(promise: nil) }
        }
    }

    /// Sends the head and half of the body. At least one byte is missing.
    private func sendHalf(of answer: HTTPAnswer, _ context: ChannelHandlerContext) {
        let length = LabHeader("content-length", String(max(1, answer.body.count)))
        write(answer, [length], answer.body.prefix(answer.body.count / 2), context)
        context.flush()
        context.close(promise: nil)
    }

    private func write(
        _ answer: HTTPAnswer,
        _ more: [LabHeader],
        _ body: some Sequence<UInt8>,
        _ context: ChannelHandlerContext
    ) {
        let head = HTTPResponseHead(
            version: .http1_1,
            status: HTTPResponseStatus(statusCode: answer.status),
            headers: HTTPHeaders((answer.headers + more).map { ($0.name, $0.value) })
        )
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        let bytes = context.channel.allocator.buffer(bytes: body)
        context.write(wrapOutboundOut(.body(.byteBuffer(bytes))), promise: nil)
    }
}

/// The handling of a request.
enum HTTP1Step: Sendable {
    /// `closes`: the connection closes afterwards.
    case answer(HTTPAnswer, afterMilliseconds: Int = 0, closes: Bool = false)
    /// Closes the connection in the middle of the response.
    case cut(HTTPAnswer)
    case silence
    case close

    /// How a misbehaviour delivers the response, if at all.
    init(_ decision: LabDecision) {
        let answer = decision.answer
        switch decision.misbehaviour {
        case .delay(let milliseconds): self = .answer(answer, afterMilliseconds: milliseconds)
        case .silence: self = .silence
        case .cut: self = .cut(answer)
        case .close, .reset, .goAway(gracefully: false, reason: _, code: _): self = .close
        case .goAway(gracefully: true, reason: _, code: _): self = .answer(answer, closes: true)
        case nil, .answer, .html, .limitStreams: self = .answer(answer)
        }
    }
}
