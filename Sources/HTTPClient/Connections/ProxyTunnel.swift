import Core
import FoundationEssentials
import Logging
import NIOCore
import NIOExtras
import NIOHTTP1
import Synchronization

/// Connects to origins through a proxy with CONNECT (RFC 9110, section 9.3.6).
package struct ProxyTunnel: Sendable {
    package let proxy: Proxy
    private let log: Logger
    private let refusals = Refusals()

    package init(proxy: Proxy, log: Logger) {
        self.proxy = proxy
        self.log = log
        Self.instantiateDecoder()
    }

    /// Swift's runtime (6.3.1) sometimes crashes when several event loops first use this generic type at the same
    /// moment. So one thread uses it before.
    private static func instantiateDecoder() {
        withExtendedLifetime(ByteToMessageHandler(HTTPResponseDecoder())) {}
    }

    /// Requests a tunnel to `origin` on a new connection to the proxy. The pipeline's existing handlers then receive
    /// the origin's bytes, including those that came with the proxy's response. The channel is closed if the proxy
    /// refuses, or sends no response before `deadline`.
    package func dig(through channel: any Channel, to origin: Origin, deadline: NIODeadline) -> EventLoopFuture<Void> {
        let dug = channel.eventLoop.makePromise(of: Void.self)
        // A tunnel's target always has a port.
        let host = if case .v6 = origin.address { "[\(origin.host)]" } else { origin.host }
        var headers: HTTPHeaders = ["host": "\(host):\(origin.port)"]
        if let authorization = proxy.authorization { headers.add(name: "proxy-authorization", value: authorization) }
        let head = AnswerHead()
        let encoder = HTTPRequestEncoder()
        let decoder = ByteToMessageHandler(HTTPResponseDecoder())
        do {
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandlers([head, encoder, decoder], position: .first)
            // Added last, because it sends its request as soon as it is added.
            try pipeline.addHandlers(
                [
                    NIOHTTP1ProxyConnectHandler(
                        targetHost: host,
                        targetPort: Int(origin.port),
                        headers: headers,
                        deadline: deadline,
                        promise: dug
                    ),
                    // Stays in the pipeline, where it does no harm.
                    NIOCloseOnErrorHandler(),
                ],
                position: .after(decoder)
            )
        } catch {
            dug.fail(error)
        }
        let codec = NIOLoopBound((head: head, encoder: encoder, decoder: decoder), eventLoop: channel.eventLoop)
        return dug.futureResult
            .flatMap {
                let pipeline = channel.pipeline.syncOperations
                return pipeline.removeHandler(codec.value.encoder)
                    .and(pipeline.removeHandler(codec.value.decoder))
                    .flatMap { _ in channel.pipeline.syncOperations.removeHandler(codec.value.head) }
            }
            .flatMapErrorThrowing { error in
                channel.close(promise: nil)
                note(error)
                throw HTTPError(.unreachable, mayHaveBeenProcessed: false)
            }
    }

    /// Counts the proxy's refusals; copies of a tunnel share the count.
    private final class Refusals: Sendable {
        private let count = Atomic<UInt64>(0)

        func add() -> UInt64 { count.add(1, ordering: .relaxed).newValue }
    }

    /// Logs the first, second, fourth, eighth … time.
    private func note(_ error: any Error) {
        let count = refusals.add()
        guard count.nonzeroBitCount == 1 else { return }
        let wantsOthers = (error as? NIOHTTP1ProxyConnectHandler.Error) == .proxyAuthenticationRequired()
        log.warning(
            wantsOthers ? "the proxy rejects the credentials" : "the proxy refuses the connection",
            metadata: ["times": "\(count)"]
        )
    }
}

/// A proxy for all requests. Has no description: its URL may hold a password.
package struct Proxy: Sendable {
    enum Scheme: String, CaseIterable {
        case http, https, socks4, socks4a, socks5, socks5h
    }

    let scheme: Scheme
    package let host: String
    package let port: Int
    /// The operator's URL, for libcurl.
    let url: String
    /// The value of Proxy-Authorization (RFC 7617), if the URL has a user.
    let authorization: String?

    /// Parses `scheme://[user:password@]host:port`, with special characters of user and password percent-encoded.
    /// Returns nil for anything else.
    package init?(_ url: String) {
        guard let colon = url.firstIndex(of: ":"), url[colon...].hasPrefix("://"),
            let scheme = Scheme(rawValue: url[..<colon].lowercased())
        else { return nil }
        var rest = url[colon...].dropFirst(3)
        if rest.hasSuffix("/") { rest = rest.dropLast() }
        if let at = rest.lastIndex(of: "@") {
            guard let decoded = Self.decoded(rest[..<at].utf8), !decoded.isEmpty else { return nil }
            let credentials = decoded.contains(UInt8(ascii: ":")) ? decoded : decoded + [UInt8(ascii: ":")]
            authorization = "Basic " + Data(credentials).base64EncodedString()
            rest = rest[rest.index(after: at)...]
        } else {
            authorization = nil
        }
        let bytes = Array(rest.utf8)
        guard let last = bytes.last, last.isASCIIDigit,
            let portColon = bytes.lastIndex(of: UInt8(ascii: ":")),
            // The colons of an IPv6 address are inside brackets.
            bytes[portColon...].dropFirst().allSatisfy(\.isASCIIDigit),
            let origin = bytes.withUnsafeBufferPointer({ Origin(isSecure: false, authority: $0[...]) })
        else { return nil }
        self.scheme = scheme
        self.url = url
        host = origin.host
        port = Int(origin.port)
    }

    /// The syntax of a proxy's URL, for error messages.
    package static let form =
        "http://host:port or http://user:password@host:port, with %40 for an @ in the password; instead of http also https, "
        + "socks4, socks4a, socks5 or socks5h"

    /// Whether HTTP/2 connections can use it: with CONNECT (RFC 9110, section 9.3.6) over a plain connection to the
    /// proxy.
    package var canTunnel: Bool { scheme == .http }

    /// Percent-decoded; nil if a character is not encoded that must be.
    private static func decoded(_ text: Substring.UTF8View) -> [UInt8]? {
        guard text.allSatisfy({ $0.isVisibleASCII && !$0.isOne(of: "/?#@") }),
            let decoded = PercentEncoding.decode(text)
        else { return nil }
        return decoded.contains { $0 < 0x20 || $0 == 0x7f } ? nil : decoded
    }
}

/// Passes on the head of a proxy's response, and keeps the bytes after it until it is removed. These are the origin's
/// first bytes: they may arrive in the same segment, and no HTTP decoder can read them.
final class AnswerHead: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private static let end: UInt32 = 0x0d0a_0d0a

    private var lastFour: UInt32 = 0
    private var isOver = false
    private var kept: [ByteBuffer] = []

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = unwrapInboundIn(data)
        guard !isOver else { return kept.append(buffer) }
        var length = 0
        for byte in buffer.readableBytesView {
            length += 1
            lastFour = lastFour << 8 | UInt32(byte)
            isOver = lastFour == Self.end
            if isOver { break }
        }
        guard let head = buffer.readSlice(length: length) else { return }
        if buffer.readableBytes > 0 { kept.append(buffer) }
        context.fireChannelRead(wrapInboundOut(head))
    }

    func removeHandler(context: ChannelHandlerContext, removalToken: ChannelHandlerContext.RemovalToken) {
        for buffer in kept { context.fireChannelRead(wrapInboundOut(buffer)) }
        kept = []
        context.leavePipeline(removalToken: removalToken)
    }
}
