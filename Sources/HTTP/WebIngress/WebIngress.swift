import Cipher
import Core
import Dispatch
import Listeners
import Logging
import NIOCore
import Push
import Synchronization

/// Takes push messages from any Web Push sender for devices that only their platform's service reaches, and hands them
/// on as they are (contrib/docs/web-push-ingress.md): a drop-in replacement for metatext-apns.
package final class WebIngress: Sendable {
    /// The limits that clients can meet here.
    package static let clientLimits: [ClientLimit] = [.connections, .idle, .requests, .bytes, .device, .work, .blocked]

    private let server: HTTPServer

    /// - Parameters:
    ///   - configuration: Where to listen, and what a client may do.
    ///   - platform: The platform of all devices.
    ///   - keep: Takes the messages.
    ///   - loop: The event loop to run on; it stays the caller's.
    ///   - now: The wall clock.
    ///   - logger: Logs connections, without addresses.
    package init(
        configuration: WebIngressConfiguration,
        platform: IngressPlatform,
        keep: @escaping KeepPushes,
        loop: any EventLoop,
        now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) {
        let counts = configuration.counts
        let handler = PushHandler(
            configuration: configuration,
            payload: PushPayload(platform, locKey: configuration.locKey),
            limits: SenderLimits(configuration.limits, counts: counts),
            queue: PushQueue(keep: keep, capacity: configuration.limits.waiting),
            counts: counts,
            now: now
        )
        server = HTTPServer(terms: configuration.terms, loop: loop, now: now, counts: counts, logger: logger) {
            try await handler.answer($0, on: $1)
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
    /// What the device shows when the app cannot decrypt: a key of the app's texts.
    package var locKey = "apns-default-message"
    /// Where connections and refusals are counted.
    package var counts = LimitCounts()
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

/// Stores push messages and returns as many answers; a push that is ``IngressAnswer/queued`` survives a power cut.
///
/// Called on the ingress's own queue, one call at a time, and may wait for the disk.
package typealias KeepPushes = @Sendable (_ pushes: [IngressPush]) -> [IngressAnswer]

/// A push message from a stranger for one device. The token is secret and stays out of logs.
package struct IngressPush: Sendable, Equatable, Concealed {
    /// The device token as lower-case hex digits.
    package var deviceToken: String
    /// Whether the token belongs to the platform's development environment.
    package var isSandbox: Bool
    package var notification: Notification
    /// The client that sent it; nil where that is not known.
    package var client: ClientAddress?

    package init(deviceToken: String, isSandbox: Bool, notification: Notification, client: ClientAddress? = nil) {
        self.deviceToken = deviceToken
        self.isSandbox = isSandbox
        self.notification = notification
        self.client = client
    }
}

/// The result for a push message, which decides the answer to its sender.
package enum IngressAnswer: Sendable, Hashable, CaseIterable {
    /// It is on disk and will be attempted.
    case queued
    /// Not now, for reasons of our own: the sender should try again.
    case busy
    /// Most of this client's recent device tokens were refused.
    case mistrusted
    /// The push service called the device token dead.
    case gone
    /// No push service will ever accept this device token.
    case unknownDevice
}

/// Brings messages to the backend in groups, one group at a time, so that one flush of the disk stores many.
final class PushQueue: Sendable {
    private struct Waiting {
        let push: IngressPush
        let answer: CheckedContinuation<IngressAnswer, Never>
    }

    private struct State {
        var waiting: [Waiting] = []
        var isDraining = false
    }

    private let keep: KeepPushes
    private let capacity: Int
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "carillon.web-ingress")

    /// `capacity` is how many messages may wait; senders of further ones get 503 with Retry-After.
    init(keep: @escaping KeepPushes, capacity: Int) {
        self.keep = keep
        self.capacity = capacity
    }

    /// Returns the backend's answer for `push`.
    func keep(_ push: IngressPush) async -> IngressAnswer {
        await withCheckedContinuation { answer in
            let (isFull, mustDrain) = state.withLock { state in
                guard state.waiting.count < capacity else { return (true, false) }
                state.waiting.append(Waiting(push: push, answer: answer))
                defer { state.isDraining = true }
                return (false, !state.isDraining)
            }
            if isFull { answer.resume(returning: .busy) }
            if mustDrain { queue.async { self.drain() } }
        }
    }

    private func drain() {
        while true {
            let batch = state.withLock { state in
                defer { state.waiting = [] }
                state.isDraining = !state.waiting.isEmpty
                return state.waiting
            }
            guard !batch.isEmpty else { return }
            let answers = keep(batch.map(\.push))
            for (index, waiting) in batch.enumerated() {
                waiting.answer.resume(returning: index < answers.count ? answers[index] : .busy)
            }
        }
    }
}
