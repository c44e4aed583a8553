import Console
import Core
import Delivery
import HTTPClient
import Logging
import Nostr
import PluginHost
import Push
import RouterConfiguration

/// One push to one device outside of the queues: it says what the push service gets, or sends it once.
///
/// It seals and repeats as the courier does. Nothing of it is stored, and no outcome changes a registration. Test
/// pushes, checks of credentials, `rules try` and `plugin dev` are trials; ``TrialServices`` are the push services that
/// they reach.
package struct Trial: Sendable {
    /// A device, and how its pushes are sealed.
    package struct Recipient: Sendable {
        let address: DeviceAddress
        /// The device's key, and the router's key that it knows; nil: the router has lost that one.
        let sealing: (key: SealingKey, sender: SecretKey)?
        /// Whether the registration names a key of the device, which counts even where the transport seals.
        var hasOwnKey = false
    }

    private let services: any TrialServices

    package init(_ services: any TrialServices) {
        self.services = services
    }

    /// Whether the router itself seals for the device.
    func seals(for recipient: Recipient) -> Bool {
        recipient.hasOwnKey || !services.seals(recipient.address.platform)
    }

    /// Sends `notification`, and its stricter forms as far as the push service does not take it: the courier's loop
    /// (``Notifications/Notification/downgraded(after:)``) without its queue. Calls `each` after each attempt with the
    /// mode of it and, unless it was the last, of the next one.
    ///
    /// Throws what speaks against the device's address, and an ``OperationFailure`` where nothing serves it.
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

    /// The same for a made-up device, as which the result is decrypted.
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
    /// A form of the notification that its transport or push service did not take.
    package struct Reduction: Sendable {
        package let mode: Mode
        let outcome: Outcome

        /// The outcome's word, such as `payload-too-large`.
        package var reason: String { outcome.reason }

        init(_ mode: Mode, _ outcome: Outcome) {
            self.mode = mode
            self.outcome = outcome
        }
    }

    /// The mode of the last attempt.
    package let mode: Mode
    /// The attempts before, in order.
    package let reductions: [Reduction]
    /// The outcome of the last attempt.
    let outcome: Outcome
    /// The plugin's requests in all attempts, and their answers; empty where they are not recorded.
    let exchanges: [TrialHTTP.Exchange]
    /// The push of the last attempt; nil where it is not recorded, and when the transport makes none.
    package var request: HTTPRequest?
    /// Where a stream would have led that the transport opened, which leads nowhere in a trial; nil when it opened none.
    package let stream: String?
    /// The body as the device reads it, when it was encrypted to the device.
    package var decrypted: [UInt8]?

    /// The outcome's word, for when there is no request.
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
    /// How long a push service may try a test push: the operator is waiting.
    private static var testLifetime: Duration { .minutes(5) }

    /// A test push. Its texts are the same in every language: only the operator is meant.
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

/// The push services that a ``Trial`` reaches: real ones, or recorded requests.
package protocol TrialServices: Sendable {
    /// Whether the platform's transport seals by itself, to keys of the registration.
    func seals(_ platform: String) -> Bool

    /// Attempts a delivery once. Throws an ``OperationFailure`` when nothing serves the platform of that app, and what
    /// the plugin says against its configuration or the address.
    func send(
        _ notification: Push.Notification,
        id: DeliveryID,
        to address: DeviceAddress
    ) async throws -> TrialReply
}

/// How one attempt of a ``Trial`` went.
package struct TrialReply: Sendable {
    let outcome: Outcome
    /// The plugin's requests and their answers; empty where they are not recorded.
    var exchanges: [TrialHTTP.Exchange] = []
    /// The host and port of a stream that leads nowhere in a trial; nil: the transport opened none.
    var stream: String?

    package init(_ outcome: Outcome) {
        self.outcome = outcome
    }
}

/// The transports of a running router, past the courier: a trial waits in no queue.
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
            throw OperationFailure.unavailable(
                Sentence(
                    "not-served",
                    ["queue": queue.words],
                    "nothing serves \(queue.platform) of the app \(queue.app): see the router's log"
                )
            )
        }
        return TrialReply(await transport.outcome(of: notification, id: id, to: address))
    }
}

/// The configured push services without a router: each attempt loads its platform's plugin.
struct ConfiguredServices: TrialServices {
    let configuration: Configuration

    /// False where the plugin cannot be loaded: the attempt says why.
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
    /// Delivers once.
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
