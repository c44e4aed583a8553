import CommandTestSupport
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// An HTTP/1.1 server on the loopback, with or without TLS, that misbehaves on request.
///
/// `/echo` returns method, the `x-test` header and the body; `/redirect` 302 to `/echo`; `/big` a megabyte; `/silent`
/// never responds; `/close` closes the connection; `/half` closes it within the body.
final class PlainServer: Sendable {
    let port: Int
    private let channel: any Channel
    private let seen = NIOLockedValueBox<[String]>([])
    private let accepted = NIOLockedValueBox(0)

    init(
        isSecure: Bool = false,
        asksForCertificates: Bool = false,
        certificate: Result<TestCertificate, any Error> = TestCertificate.shared
    ) async throws {
        let seen = seen
        let accepted = accepted
        var tls: NIOSSLContext?
        if isSecure {
            let files = try certificate.get()
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: try NIOSSLCertificate.fromPEMFile(files.certificateFile).map { .certificate($0) },
                privateKey: .privateKey(try NIOSSLPrivateKey(file: files.keyFile, format: .pem))
            )
            if asksForCertificates {
                configuration.certificateVerification = .noHostnameVerification
                configuration.trustRoots = .file(files.certificateFile)
            }
            tls = try NIOSSLContext(configuration: configuration)
        }
        channel = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .childChannelInitializer { [tls] channel in
                channel.eventLoop.makeCompletedFuture {
                    accepted.withLockedValue { $0 += 1 }
                    if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Handler(seen: seen))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        port = channel.localAddress?.port ?? 0
    }

    /// The requested paths.
    var paths: [String] { seen.withLockedValue { $0 } }
    var connections: Int { accepted.withLockedValue { $0 } }

    func stop() async {
        try? await channel.close()
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let seen: NIOLockedValueBox<[String]>
        private var head: HTTPRequestHead?
        private var body = ByteBuffer()

        init(seen: NIOLockedValueBox<[String]>) {
            self.seen = seen
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head):
                self.head = head
                body.clear()
            case .body(var piece):
                body.writeBuffer(&piece)
            case .end:
                guard let head else { return }
                seen.withLockedValue { $0.append(head.uri) }
                answer(head, context)
            }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            context.close(promise: nil)
        }

        private func answer(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
            switch head.uri {
            case "/silent":
                break
            case "/close":
                context.close(promise: nil)
            case "/half":
                write(.ok, [("content-length", "100")], ByteBuffer(string: "only this"), ends: false, context)
                context.close(promise: nil)
            case "/redirect":
                write(.found, [("location", "/echo"), ("content-length", "0")], nil, context)
            case "/big":
                let body = ByteBuffer(repeating: 0x62, count: 1_000_000)
                write(.ok, [("content-length", "1000000")], body, context)
            default:
                var echo = ByteBuffer(
                    string: "\(head.method.rawValue) \(head.headers["x-test"].joined(separator: ",")) "
                )
                echo.writeBuffer(&body)
                let names = head.headers.map(\.name).sorted().joined(separator: " ")
                write(.ok, [("X-Names", names), ("content-length", String(echo.readableBytes))], echo, context)
            }
        }

        private func write(
            _ status: HTTPResponseStatus,
            _ headers: [(String, String)],
            _ body: ByteBuffer?,
            ends: Bool = true,
            _ context: ChannelHandlerContext
        ) {
            let head = HTTPResponseHead(version: .http1_1, status: status, headers: HTTPHeaders(headers))
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            if let body { context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil) }
            if ends { context.write(wrapOutboundOut(.end(nil)), promise: nil) }
            context.flush()
        }
    }
}
