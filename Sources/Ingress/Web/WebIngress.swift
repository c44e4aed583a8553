import HTTPListening
import Listening
import Logging
import NIOCore
import Platforms
import Units

/// Takes push messages from any Web Push sender for devices that only their platform's service reaches, and hands them
/// on as they are (seed 001): a drop-in replacement for metatext-apns.
package final class WebIngress: Sendable {
    /// The limits that clients can meet here.
    package static let clientLimits: [ClientLimit] = [.connections, .idle, .requests, .bytes, .device, .work, .blocked]

    private let server: HTTPServer

    /// - Parameters:
    ///   - configuration: Where to listen, and what a client may do.
    ///   - platform: The platform of all devices.
    ///   - backend: Takes the messages.
    ///   - loop: The event loop to run on; it stays the caller's.
    ///   - now: The wall clock.
    ///   - counts: Counts connections and refusals.
    ///   - logger: Logs connections, without addresses.
    package init(
        configuration: WebIngressConfiguration,
        platform: IngressPlatform,
        backend: any IngressBackend,
        loop: any EventLoop,
        now: @escaping @Sendable () -> Timestamp,
        counts: LimitCounts = LimitCounts(),
        logger: Logger
    ) {
        let handler = PushHandler(
            configuration: configuration,
            payload: PushPayload(platform, locKey: configuration.locKey),
            limits: SenderLimits(configuration.limits, counts: counts),
            queue: PushQueue(backend: backend, capacity: configuration.limits.waiting),
            counts: counts,
            now: now
        )
        server = HTTPServer(terms: configuration.terms, loop: loop, now: now, counts: counts, logger: logger) {
            HTTPAnswer(try await handler.answer($0, on: $1))
        }
    }

    /// Starts listening, and returns the port. Throws a `ListenError` when the address cannot be listened on.
    package func start() async throws -> Int { try await server.start() }

    /// Stops listening at once, lets requests under way end for `patience`, and then ends what is left.
    package func stop(within patience: Duration) async { await server.stop(within: patience) }
}

extension IngressPlatform {
    /// The platform of that name, as its description says; nil when it cannot serve the sealed ingress.
    package init?(_ name: String, in catalog: PlatformCatalog) {
        guard let ingress = catalog[name]?.ingress else { return nil }
        self.init(name: name, block: ingress.block.json, limit: ingress.limit)
    }
}

/// Where the ingress listens, what its pushes say, and what one client may do. The defaults suit a public address
/// behind a web server with TLS.
package struct WebIngressConfiguration: Sendable {
    /// The address to listen on.
    package var host = "127.0.0.1"
    /// The port to listen on; 0 lets the system choose.
    package var port = 7449
    /// What the device shows when the app cannot decrypt: a key of the app's texts (seed 001).
    package var locKey = "apns-default-message"
    /// Whether to trust `X-Forwarded-For` from an address.
    package var isTrustedProxy: @Sendable (String) -> Bool = { _ in false }
    /// Whether nothing is taken from an address.
    package var isBlocked: @Sendable (String) -> Bool = { _ in false }
    package var limits = Limits()

    package init() {}

    /// What one client may do. A client over a limit gets 429; one that continues loses its connection.
    package struct Limits: Sendable, Equatable {
        /// The most connections at the same time. A further one replaces the one that was silent for longest, and is
        /// closed when all have a request in work.
        package var connections = 1_000
        /// The same from one address. Trusted proxies and this machine have no such limit.
        package var connectionsPerAddress = 100
        /// Messages for one device a minute, over time.
        package var perDevicePerMinute = 60
        /// Messages for one device at once, before the rate counts.
        package var deviceBurst = 120
        /// Requests from one address a second, over time. This machine has no such limit: a proxy may be behind it.
        package var perClientPerSecond = 100
        /// Requests from one address at once, before the rate counts.
        package var clientBurst = 1_000
        /// Bytes of bodies from one address a second, over time, and eight times as many at once; a client that sends
        /// more loses the connection. This machine has no such limit.
        package var bytesPerClientPerSecond = 1_048_576
        /// The most messages that wait for the disk; senders of further ones get 503 with Retry-After.
        package var waiting = 1_000
        /// The longest body that is read to its end; a longer one ends the connection. Web Push bodies have at most
        /// 4,096 bytes.
        package var bodyBytes: ByteCount = .mebibytes(1)
        /// The longest request line and header.
        package var headerBytes: ByteCount = .kibibytes(16)
        /// How long a client may take from the end of its header to the end of its body.
        package var bodyTimeout: Duration = .seconds(15)
        /// How long a connection may be idle, or take for a header.
        package var idleTimeout: Duration = .seconds(60)

        package init() {}
    }
}

extension WebIngressConfiguration {
    fileprivate var terms: HTTPListeningTerms {
        var terms = HTTPListeningTerms(
            at: .network(host: host, port: port),
            connections: limits.connections,
            connectionsPerAddress: limits.connectionsPerAddress,
            headerBytes: limits.headerBytes,
            idleTimeout: limits.idleTimeout,
            refusalLine: "Refusing push senders: too many connections"
        )
        terms.isTrustedProxy = isTrustedProxy
        return terms
    }
}
