import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Units

/// One HTTP request over a socket in the file system.
struct SocketRequest {
    private static let patience: TimeAmount = .minutes(1)
    private static let mostBytes = 16 << 20

    let socket: String
    let method: String
    let target: String
    /// JSON.
    var body: Data?

    /// The answer. Throws `IOError` where nobody listens or this user may not connect, and errors of the connection.
    func answer(on group: any EventLoopGroup) async throws -> APIClient.Answer {
        let result = group.next().makePromise(of: APIClient.Answer.self)
        let bootstrap = ClientBootstrap(group: group).channelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHTTPClientHandlers()
                try channel.pipeline.syncOperations.addHandler(
                    NIOHTTPClientResponseAggregator(maxContentLength: Self.mostBytes)
                )
                try channel.pipeline.syncOperations.addHandler(AnswerTaker(result))
            }
        }
        let channel: any Channel
        do {
            channel = try await bootstrap.connect(unixDomainSocketPath: socket).get()
        } catch {
            result.fail(error)
            throw error
        }
        let head = HTTPRequestHead(
            version: .http1_1,
            method: HTTPMethod(rawValue: method),
            uri: target,
            headers: [
                "host": "localhost", "connection": "close", "content-type": "application/json",
                "content-length": "\(body?.count ?? 0)",
            ]
        )
        let timeout = channel.eventLoop.scheduleTask(in: Self.patience) { channel.close(promise: nil) }
        channel.write(HTTPClientRequestPart.head(head), promise: nil)
        if let body { channel.write(HTTPClientRequestPart.body(.byteBuffer(ByteBuffer(bytes: body))), promise: nil) }
        channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
        defer { timeout.cancel() }
        return try await result.futureResult.get()
    }
}

/// Takes the one answer of a connection, and ends it.
private final class AnswerTaker: ChannelInboundHandler {
    typealias InboundIn = NIOHTTPClientResponseFull

    private let result: EventLoopPromise<APIClient.Answer>

    init(_ result: EventLoopPromise<APIClient.Answer>) { self.result = result }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let response = unwrapInboundIn(data)
        let body = response.body.map { String(buffer: $0) } ?? ""
        result.succeed(APIClient.Answer(status: Int(response.head.status.code), body: body))
        context.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        result.fail(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { result.fail(ChannelError.inputClosed) }
}
