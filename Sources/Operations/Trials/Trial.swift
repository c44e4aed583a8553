import Console
import Core
import Delivery
import HTTPClient
import Logging
import Nostr
import PluginHost
import Push
import RouterConfiguration

/// Sends one push to one device outside the queues, or only records the requests, depending on the ``TrialServices``.
///
/// It encrypts and falls back to stricter modes like the courier, but stores nothing and changes no registration. Test
/// pushes, credential checks, `rules try` and `plugin dev` are trials.
package struct Trial: Sendable {
    /// A device and its encryption keys.
    package struct Recipient: Sendable {
        let address: DeviceAddress
        /// The device's key, and the router's key for it; `nil` if the router no longer has that one.
        let sealing: (key: SealingKey, sender: SecretKey)?
        /// Whether the registration contains a device key, even if the transport encrypts.
        var hasOwnKey = false
    }

    private let services: any TrialServices

    package init(_ services: any TrialServices) {
        self.services = services
    }

    /// Whether the router itself encrypts for the device.
    func seals(for recipient: Recipient) -> Bool {
        recipient.hasOwnKey || !services.seals(recipient.address.platform)
    }

    /// Sends `notification`, and then stricter forms while the push service rejects it. This is the courier's loop
    /// (``Push/Notification/downgraded(after:)``) without its queue. Calls `each` after each attempt with its
    /// mode and, if there is one, the next mode.
    ///
    /// Throws if the device's address is invalid, and an ``OperationError`` if no plugin provides the platform.
    func deliver(
        _ notification: Push.Notification,
        id: DeliveryID,
        to recipient: Recipient,
        each: (Mode, TrialReply, _ next: Mode?) -> Void = { _, _, _ in }
    ) async throws -> TrialResult {
        var reductions: [TrialResult.Reduction] = []
        var exchanges: [TrialHTTP.Exchange] = []
        var current = notification
        if notification.mode == .sealed, seals(for: recipient) {
            if let sealed = sealed(notification, id: id, for: recipient) {
                current = sealed
            } else if let stricter = notification.stricter {
                reductions.append(TrialResult.Reduction(.sealed, Outcome(.rejected, reason: "not-sealed")))
                current = stricter
            }
        }
        while true {
            let reply = try await services.send(current, id: id, to: recipient.address)
            exchanges += reply.exchanges
            let stricter = current.downgraded(after: reply.outcome)
            each(current.mode, reply, stricter?.mode)
            guard let stricter else { return TrialResult(current.mode, reductions, exchanges, reply) }
            reductions.append(TrialResult.Reduction(current.mode, reply.outcome))
            current = stricter
        }
    }

    private func sealed(
        _ notification: Push.Notification,
        id: DeliveryID,
        for recipient: Recipient
    ) -> Push.Notification? {
        recipient.sealing.flatMap { try? Sealer().seal(notification, id: id, for: $0.key, from: $0.sender) }
    }

    /// Delivers to a simulated device and decrypts the result.
    package func deliver(
        _ notification: Push.Notification,
        id: DeliveryID,
        to device: SampleDevice
    ) async throws -> TrialResult {
        var result = try await deliver(notification, id: id, to: device.recipient)
        result.decrypted = result.request.flatMap { device.decrypt($0.body) }
        return result
    }
}

/// The outcome of a ``Trial``.
package struct TrialResult: Sendable {
    /// A form of the notification that its transport or push service rejected.
    package struct Reduction: Sendable {
        package let mode: Mode
        let outcome: Outcome

        /// The code of the outcome, such as `payload-too-large`.
        package var reason: String { outcome.reason }

        init(_ mode: Mode, _ outcome: Outcome) {
            self.mode = mode
            self.outcome = outcome
        }
    }

    /// The mode of the last attempt.
    package let mode: Mode
    /// The earlier attempts, in order.
    package let reductions: [Reduction]
    /// The outcome of the last attempt.
    let outcome: Outcome
    /// The plugin's requests in all attempts with their responses; empty if not recorded.
    let exchanges: [TrialHTTP.Exchange]
    /// The last attempt's push; `nil` if it is not recorded or the transport makes none.
    package var request: HTTPRequest?
    /// The destination of a stream that the transport opened; `nil` if it opened none. In a trial the stream is not
    /// connected.
    package let stream: String?
    /// The body as the device decrypts it, if it was encrypted to the device.
    package var decrypted: [UInt8]?

    /// The code of the outcome, for results without a request.
    package var reason: String { outcome.reason }

    init(_ mode: Mode, _ reductions: [Reduction], _ exchanges: [TrialHTTP.Exchange], _ reply: TrialReply) {
        self.mode = mode
        self.reductions = reductions
        self.exchanges = exchanges
        outcome = reply.outcome
        request = reply.exchanges.map(\.request).last { !$0.isTokenRequest }
        stream = reply.stream
    }
}

extension Push.Notification {
    /// The lifetime of a test push, short because the operator is waiting.
    private static var testLifetime: Duration { .minutes(5) }

    /// Returns a test push. Its strings are not localized, because only the operator sees them.
    static func test(in mode: Mode, at now: Timestamp) -> Push.Notification {
        let texts = NeutralTexts(title: "Carillon", body: "This is a test.")
        var notification =
            switch mode {
            case .wake: Push.Notification.wake(.mention, urgency: .high)
            case .nudge: Push.Notification.nudge(.mention, urgency: .high, texts)
            case .sealed, .alert:
                Push.Notification(
                    mode: mode,
                    signal: .mention,
                    urgency: .high,
                    title: texts.title,
                    body: texts.body,
                    neutral: texts
                )
            }
        notification.expiresAt = now + testLifetime
        return notification
    }
}

/// The push services of a ``Trial``: real ones, or recorded requests.
package protocol TrialServices: Sendable {
    /// Whether the platform's transport encrypts, to keys in the registration.
    func seals(_ platform: String) -> Bool

    /// Attempts a delivery once. Throws an ``OperationError`` if no plugin provides the app's platform, and the
    /// plugin's errors about its configuration or the address.
    func send(
        _ notification: Push.Notification,
        id: DeliveryID,
        to address: DeviceAddress
    ) async throws -> TrialReply
}

/// The result of one attempt of a ``Trial``.
package struct TrialReply: Sendable {
    let outcome: Outcome
    /// The plugin's requests with their responses; empty if not recorded.
    var exchanges: [TrialHTTP.Exchange] = []
    /// The host and port of a stream, which is not connected in a trial; `nil` if the transport opened none.
    var stream: String?

    package init(_ outcome: Outcome) {
        self.outcome = outcome
    }
}

/// The transports of a running router. A trial bypasses the courier and its queues.
package struct RunningServices: TrialServices {
    private let transports: ActiveTransports
    private let plugins: PluginHost

    package init(_ transports: ActiveTransports, _ plugins: PluginHost) {
        self.transports = transports
        self.plugins = plugins
    }

    package func seals(_ platform: String) -> Bool { plugins.encryptingPlatforms.contains(platform) }

    package func send(
        _ notification: Push.Notification,
        id: DeliveryID,
        to address: DeviceAddress
    ) async throws -> TrialReply {
        let queue = QueueName(address)
        guard let transport = transports.current.all[queue] else {
            throw OperationError.unavailable(
                Sentence(
                    "not-served",
                    ["queue": queue.words],
                    "no transport serves \(queue.platform) of the app \(queue.app): see the router's log"
                )
            )
        }
        return TrialReply(await transport.outcome(of: notification, id: id, to: address))
    }
}

/// The configured push services without a router: each attempt loads its platform's plugin.
struct ConfiguredServices: TrialServices {
    let configuration: Configuration

    /// Returns false if the plugin cannot be loaded; the attempt then throws the reason.
    func seals(_ platform: String) -> Bool {
        let log = Logger(label: "carillon.push") { _ in SwiftLogNoOpLogHandler() }
        return (try? configuration.plugins.load(log: log))?.encryptingPlatforms.contains(platform) ?? false
    }

    func send(
        _ notification: Push.Notification,
        id: DeliveryID,
        to address: DeviceAddress
    ) async throws -> TrialReply {
        let platform = StandalonePlatform(address.platform, of: address.app, configuration)
        return try await platform.withTransport { transport in
            TrialReply(await transport.outcome(of: notification, id: id, to: address))
        }
    }
}

extension TransportInstance {
    /// Delivers once and returns the outcome.
    func outcome(
        of notification: Push.Notification,
        id: DeliveryID,
        to address: DeviceAddress
    ) async -> Outcome {
        let delivery = Delivery(
            id: id,
            device: DeviceID(rawValue: 0),
            platform: address.platform,
            app: address.app,
            notification: notification,
            acceptedAt: .epoch
        )
        return await withCheckedContinuation { continuation in
            deliver([DeliveryAttempt(delivery, to: address) { continuation.resume(returning: $0) }])
        }
    }
}
