import Console
import Core
import Foundation
import Glibc
import HTTPClient
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import RouterConfiguration
import Storage

/// A client of the API of the router that runs on this configuration.
package struct APIClient {
    /// A response of the router.
    package struct Answer: Sendable, Hashable {
        package var status: Int
        /// JSON that ends with a newline.
        package var body: String
    }

    private enum Way {
        /// The admin socket.
        case socket(String)
        /// The router's API over TCP.
        case network(url: String, token: String, tokenFile: String)
    }

    private let way: Way

    /// Uses the router's admin socket, or the API if the socket is missing or this user may not write to it.
    ///
    /// Throws an unreachable ``OperationError`` if there is neither or `api.listen` has port 0, and `Diagnostics` for
    /// an unreadable API token.
    package init(configuration: Configuration) throws {
        let socket = configuration.store.adminSocketPath
        if access(socket, W_OK) == 0 {
            way = .socket(socket)
            return
        }
        let isForbidden = errno == EACCES
        guard let api = configuration.api else {
            throw OperationError.unreachable(
                isForbidden
                    ? "this user has no access to the router's socket: run this as root or as the user that runs Carillon"
                    : "no router runs on this configuration: \(socket) does not exist"
            )
        }
        guard api.console.port > 0 else {
            throw OperationError.unreachable("api.listen: with port 0 the router's port is unknown. Set a fixed port")
        }
        way = .network(
            url: "http://\(Self.host(of: api.console.host)):\(api.console.port)",
            token: try APITokenFile(path: api.tokenFile).text(),
            tokenFile: api.tokenFile
        )
    }

    /// Returns the response to a request for `target`, such as `/v1/reload`, even if its status is an error.
    ///
    /// Throws an unreachable ``OperationError`` if no router responds or it rejects the token, and system errors.
    package func ask(_ method: String, _ target: String, body: Data? = nil) async throws -> Answer {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let answer: Result<Answer, any Error>
        do {
            answer = .success(try await ask(method, target, body, on: group))
        } catch {
            answer = .failure(error)
        }
        try await group.shutdownGracefully()
        return try answer.get()
    }

    private func ask(
        _ method: String,
        _ target: String,
        _ body: Data?,
        on group: any EventLoopGroup
    ) async throws -> Answer {
        switch way {
        case .socket(let socket):
            do {
                guard let path = SocketPath(socket) else { throw IOError(errnoCode: errno, reason: "open") }
                defer { withExtendedLifetime(path) {} }
                return try await SocketRequest(socket: path.text, method: method, target: target, body: body)
                    .answer(on: group)
            } catch {
                throw OperationError.unreachable(
                    "no response from \(socket): check that the router runs with this configuration"
                )
            }
        case .network(let url, let token, let tokenFile):
            let request = HTTPRequest(
                method: method,
                url: url + target,
                headers: [
                    HTTPField("authorization", "Bearer " + token), HTTPField("content-type", "application/json"),
                ],
                body: body.map { Array($0) } ?? [],
                timeout: .minutes(1),
                maxResponseBytes: .mebibytes(1)
            )
            switch try await Self.response(to: request, on: group) {
            case .success(let response) where response.status == 401:
                throw OperationError.unreachable(
                    "the router at \(url) rejects the token in \(tokenFile). If the file was changed while the router runs, "
                        + "reload the router (systemctl reload, or send it SIGHUP)"
                )
            case .success(let response):
                return Answer(status: Int(response.status), body: String(decoding: response.body, as: UTF8.self))
            case .failure(let failure):
                throw OperationError.unreachable(
                    "no response from \(url) (\(failure.reason.rawValue)): check that the router runs with this configuration"
                )
            }
        }
    }

    private static func response(
        to request: HTTPRequest,
        on group: any EventLoopGroup
    ) async throws -> Result<HTTPResponse, HTTPError> {
        let log = Logger(label: "carillon.api-client") { _ in SwiftLogNoOpLogHandler() }
        let lanes = try HTTPLanes(configuration: HTTPLanes.Configuration(), group: group, logger: log)
        let result = await withCheckedContinuation { continuation in
            lanes.send(request) { continuation.resume(returning: $0) }
        }
        await lanes.shutdown()
        return result
    }

    /// Returns the host to connect to for a listener's address: the loopback address for an unspecified one.
    static func host(of listening: String) -> String {
        switch listening {
        case "0.0.0.0": "127.0.0.1"
        case "::": "[::1]"
        case let address where address.contains(":"): "[\(address)]"
        default: listening
        }
    }
}

/// One HTTP request over a Unix domain socket.
struct SocketRequest {
    private static let timeout: TimeAmount = .minutes(1)
    private static let maxBytes = 16 << 20

    let socket: String
    let method: String
    let target: String
    /// JSON.
    var body: Data?

    /// Returns the response. Throws connection errors, such as `IOError` if no process listens.
    func answer(on group: any EventLoopGroup) async throws -> APIClient.Answer {
        let result = group.next().makePromise(of: APIClient.Answer.self)
        let bootstrap = ClientBootstrap(group: group).channelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHTTPClientHandlers()
                try channel.pipeline.syncOperations.addHandler(
                    NIOHTTPClientResponseAggregator(maxContentLength: Self.maxBytes)
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
        let timeout = channel.eventLoop.scheduleTask(in: Self.timeout) { channel.close(promise: nil) }
        channel.write(HTTPClientRequestPart.head(head), promise: nil)
        if let body { channel.write(HTTPClientRequestPart.body(.byteBuffer(ByteBuffer(bytes: body))), promise: nil) }
        channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
        defer { timeout.cancel() }
        return try await result.futureResult.get()
    }
}

/// Takes the only response of a connection, then closes the connection.
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

/// A path to a socket that fits into an address (`sun_path`), however long the socket's own path is. A long path goes
/// through the descriptor of its directory.
package final class SocketPath: Sendable {
    /// SwiftNIO's limit, in bytes.
    private static let longest = 103

    /// The path to listen on or connect to, valid only while this value lives.
    package let text: String
    private let folder: Int32?

    /// Nil if the directory of a long path cannot be opened; `errno` has the reason.
    package init?(_ socket: String) {
        guard socket.utf8.count > Self.longest else {
            text = socket
            folder = nil
            return
        }
        let url = URL(fileURLWithPath: socket)
        let folder = open(url.deletingLastPathComponent().path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { return nil }
        self.folder = folder
        text = "/proc/self/fd/\(folder)/\(url.lastPathComponent)"
    }

    deinit {
        if let folder { close(folder) }
    }
}
