import Cipher
import Core
import Dispatch
import Listeners
import Logging
import NIOCore
import Push
import Synchronization

extension HTTPServer {
    /// Makes the server that receives push messages from any Web Push sender for devices that only their platform's
    /// service reaches, and forwards them unchanged (contrib/docs/web-push-ingress.md): a drop-in replacement for
    /// metatext-apns.
    ///
    /// - Parameters:
    ///   - configuration: The address and the limits for one client.
    ///   - platform: The platform of all devices.
    ///   - keep: Stores the messages.
    ///   - loop: The caller's event loop.
    ///   - now: The wall clock.
    ///   - logger: Logs connections, without addresses.
    package convenience init(
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
        self.init(terms: configuration.terms, loop: loop, now: now, counts: counts, logger: logger) {
            try await handler.answer($0, on: $1)
        }
    }
}

extension IngressPlatform {
    /// Takes the platform from its plugin's description; nil if it does not support the sealed ingress.
    package init?(_ name: String, in catalog: PlatformCatalog) {
        guard let ingress = catalog[name]?.ingress else { return nil }
        self.init(name: name, block: ingress.block.json, limit: ingress.limit)
    }
}

/// The ingress's address, alert text and limits for one client. The defaults suit a public address behind a web server
/// with TLS.
package struct WebIngressConfiguration: Sendable {
    /// The limits that apply to clients of the ingress.
    package static let clientLimits: [ClientLimit] = [.connections, .idle, .requests, .bytes, .device, .work, .blocked]

    package var host = "127.0.0.1"
    /// The port; 0 lets the system choose.
    package var port = 7449
    /// The fallback text when the app cannot decrypt: a key of the app's texts.
    package var locKey = "apns-default-message"
    /// Counts connections and refusals.
    package var counts = LimitCounts()
    /// Whether to trust `X-Forwarded-For` from an address.
    package var isTrustedProxy: @Sendable (String) -> Bool = { _ in false }
    /// Whether the operator blocks an address.
    package var isBlocked: @Sendable (String) -> Bool = { _ in false }
    package var limits = Limits()

    package init() {}

    /// Limits for one client. A client over a limit gets 429; one that continues loses its connection.
    package struct Limits: Sendable, Equatable {
        /// The maximum of concurrent connections. A new one above it replaces the longest-silent one; it is closed if
        /// all others have a request in progress.
        package var connections = 1_000
        /// The same from one address. Trusted proxies and this machine have no such limit.
        package var connectionsPerAddress = 100
        /// Sustained rate of messages for one device, per minute.
        package var perDevicePerMinute = 60
        /// The burst before that rate applies.
        package var deviceBurst = 120
        /// Sustained rate of requests from one address, per second. This machine has no such limit, because it may run
        /// a proxy.
        package var perClientPerSecond = 100
        /// The burst before that rate applies.
        package var clientBurst = 1_000
        /// Sustained rate of body bytes from one address, per second; the burst is eight times as much. A client that
        /// sends more loses the connection. This machine has no such limit.
        package var bytesPerClientPerSecond = 1_048_576
        /// The maximum of messages that wait for the disk; more get 503 with Retry-After.
        package var waiting = 1_000
        /// The longest body that is read; a longer one closes the connection. Web Push bodies have at most 4,096 bytes.
        package var bodyBytes: ByteCount = .mebibytes(1)
        /// The longest request line and header.
        package var headerBytes: ByteCount = .kibibytes(16)
        /// Timeout from the end of the header to the end of the body.
        package var bodyTimeout: Duration = .seconds(15)
        /// Timeout for an idle connection and for a header.
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
            refusalLine: "Refused push senders: too many connections"
        )
        terms.isTrustedProxy = isTrustedProxy
        return terms
    }
}

/// Stores push messages and returns one result for each; a push that is ``IngressAnswer/queued`` survives a power cut.
///
/// Called on the ingress's own queue, one call at a time; may wait for the disk.
package typealias KeepPushes = @Sendable (_ pushes: [IngressPush]) -> [IngressAnswer]

/// An unauthenticated push message for one device. The token is secret and stays out of logs.
package struct IngressPush: Sendable, Equatable, Concealed {
    /// The device token as lower-case hex digits.
    package var deviceToken: String
    /// Whether the token belongs to the platform's development environment.
    package var isSandbox: Bool
    package var notification: Notification
    /// The client that sent it; nil if unknown.
    package var client: ClientAddress?

    package init(deviceToken: String, isSandbox: Bool, notification: Notification, client: ClientAddress? = nil) {
        self.deviceToken = deviceToken
        self.isSandbox = isSandbox
        self.notification = notification
        self.client = client
    }
}

/// The result for a push message, which decides the response to its sender.
package enum IngressAnswer: Sendable, Hashable, CaseIterable {
    /// It is on disk and will be attempted.
    case queued
    /// The router is busy: the sender should retry.
    case busy
    /// Most of this client's recent device tokens were refused.
    case mistrusted
    /// The push service reported the device token as dead.
    case gone
    /// No push service will ever accept this device token.
    case unknownDevice
}

/// Stores messages in groups, one group at a time, so that one disk flush stores many.
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

    /// `capacity` is the maximum of queued messages; senders of more get 503 with Retry-After.
    init(keep: @escaping KeepPushes, capacity: Int) {
        self.keep = keep
        self.capacity = capacity
    }

    /// Stores `push` and returns the backend's result.
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
