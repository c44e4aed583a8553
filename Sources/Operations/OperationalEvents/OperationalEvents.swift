import Cipher
import Console
import Core
import Delivery
import Dispatch
import HTTPClient
import JSON
import Logging
import NIOCore
import Nostr
import Observability
import PluginHost
import Push
import Registry
import Relays
import RouterConfiguration
import Rules
import Synchronization

/// Sends operational events to `/v1/stream`, webhook endpoints, and people's devices.
///
/// Messages for endpoints are on disk within a moment. After a restart they are sent with the same ids.
package final class OperationalEvents: Sendable {
    private struct State {
        var watch: OperationalWatch
        /// The issues of the last check.
        var issues: [RouterStatus.Issue] = []
    }

    private let settings: Configuration.OperationalEvents
    private let stream: LiveStream
    private let webhooks: Webhooks
    private let now: @Sendable () -> Timestamp
    private let logger: Logger
    private let state: Mutex<State>
    /// For writes to the registry.
    private let queue = DispatchQueue(label: "carillon operational events")
    /// Sends an event to people's devices. Set later, because the notifier is created after the delivery observers.
    private let notify = Mutex<(@Sendable (_ body: String, _ id: String) async throws -> Void)?>(nil)
    /// Reads the status.
    private let status = Mutex<StatusReader?>(nil)

    /// `path` is the file for queued messages. Throws the error of an unreadable secrets file.
    package init(
        _ settings: Configuration.OperationalEvents?,
        path: String,
        stream: LiveStream,
        sender: any HTTPSender,
        now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) throws(WebhookSecrets.FormatError) {
        let settings = settings ?? Configuration.OperationalEvents()
        self.settings = settings
        self.stream = stream
        self.now = now
        self.logger = logger
        webhooks = try Webhooks(
            settings.webhooks,
            path: path,
            sender: sender,
            now: now,
            logger: logger
        )
        let watch = OperationalWatch(failingDays: settings.failingDays, disableDays: settings.disableDays)
        state = Mutex(State(watch: watch))
    }

    /// Starts pushes to people's devices by `notifier` and checks of the router's `status`.
    package func begin(_ status: StatusReader, notifier: Notifier, terms: @escaping @Sendable () -> RuleBook) {
        self.status.withLock { $0 = status }
        notify.withLock { notify in
            notify = { [plugins = status.health.outgoing.plugins] body, id in
                let bytes = Array(body.utf8)
                _ = try await notifier.send(bytes, from: Notifier.Origin(sender: "operational events", key: id)) {
                    let terms = NotifyRequest.Terms(book: terms(), platforms: KnownPlatforms(plugins))
                    return try NotifyRequest(ByteBuffer(bytes: bytes), terms)
                }
            }
        }
        webhooks.begin()
    }

    /// Checks periodically for changes that no part reports, until `pause` throws on cancellation.
    package func run(pause: @Sendable () async throws -> Void = { try await Task.sleep(for: .seconds(10)) }) async {
        while (try? await pause()) != nil {
            look()
            await lookForIssues()
        }
    }

    /// Stops sending. Later events are kept for the next start.
    package func stop() { webhooks.stop() }

    /// Returns when all queued messages are on disk.
    package func close() {
        queue.sync {}
        webhooks.close()
    }

    private func look() {
        guard let router = status.withLock({ $0?.health }) else { return }
        var sight = OperationalWatch.Snapshot()
        sight.expiries = router.outgoing.transports.statuses.expiries
        sight.processes = router.outgoing.plugins.processReports
        sight.closedRelays = router.incoming.pool.status.map(\.url).filter { relay in
            router.incoming.pool.behavior[relay]?.lastMessages.contains { $0.text.hasPrefix("auth-required") } ?? false
        }
        .map(\.text)
        let now = now()
        let events = state.withLock { $0.watch.look(sight, at: now) }
        tell(events)
    }

    /// Compares the issues with those of the last check. The check asks every part, so it runs only while a client
    /// reads the stream.
    private func lookForIssues() async {
        guard stream.isRead, let status = status.withLock({ $0 }) else { return }
        let issues = await status.status(within: .seconds(1)).issues
        let former = state.withLock { state in
            defer { state.issues = issues }
            return state.issues
        }
        stream.add(former.filter { !issues.contains($0) }, areResolved: true)
        stream.add(issues.filter { !former.contains($0) }, areResolved: false)
    }

    // MARK: Reporting

    private func tell(_ events: [OperationalEvent]) {
        guard !events.isEmpty else { return }
        stream.add(events)
        webhooks.add(events)
        push(events.filter { settings.accountEvents.contains($0.kind) })
    }

    private func push(_ events: [OperationalEvent]) {
        guard !settings.accounts.isEmpty, !events.isEmpty, let notify = notify.withLock({ $0 }) else { return }
        let accounts = settings.accounts.map { "\"\($0.hex)\"" }.joined(separator: ",")
        Task { [logger] in
            for event in events {
                let body = """
                    {"to":{"accounts":[\(accounts)]},"title":"Carillon: \(event.kind.rawValue)",\
                    "body":\(JSONText.quoted(event.words)),"urgency":"high"}
                    """
                do {
                    try await notify(body, Hex.encode(SecureRandom.bytes(16)))
                } catch {
                    logger.warning(
                        "Failed to notify the operator's devices",
                        metadata: ["what": "\(event.kind.rawValue)"]
                    )
                }
            }
        }
    }
}

extension OperationalEvents: DeliveryObserver {
    package func deliveriesReported(_ reports: [DeliveryReport]) {
        let now = now()
        let status = status.withLock { $0 }
        let registry = status?.health.incoming.registry
        let (events, suspensions) = state.withLock { state in
            let events = state.watch.took(reports, at: now) { device in
                (try? status?.files.trace?.reader.statuses(of: [device]))?[device]?.lastSuccess?.at
                    ?? (try? registry?.listing(of: device))?.registeredAt
            }
            return (events, state.watch.takeSuspensions())
        }
        tell(events)
        guard !suspensions.isEmpty, let registry else { return }
        // The registry writes to disk, and the reporting thread must not wait for it.
        queue.async { [self] in disable(suspensions, in: registry) }
    }

    private func disable(_ suspensions: [OperationalWatch.Suspension], in registry: Registry) {
        var events: [OperationalEvent] = []
        for suspension in suspensions {
            do {
                let isNews = try registry.disable(
                    suspension.device,
                    failingSince: suspension.since,
                    registeredBefore: suspension.registeredBefore
                )
                let now = now()
                if isNews { events.append(state.withLock { $0.watch.disabled(suspension, at: now) }) }
            } catch {
                logger.warning(
                    "Failed to disable a device that fails",
                    metadata: ["device": "\(suspension.device.rawValue)", "error": "\(error)"]
                )
            }
        }
        tell(events)
    }

    package func queuePaused(_ pause: QueuePause) {
        let now = now()
        tell(state.withLock { $0.watch.paused(pause, at: now) }.map { [$0] } ?? [])
    }

    package func queueResumed(_ queue: QueueName) {
        let now = now()
        tell(state.withLock { $0.watch.resumed(queue, at: now) }.map { [$0] } ?? [])
    }
}

/// An operational event of the router or a device. It contains no content, token or endpoint.
struct OperationalEvent: Sendable, Equatable {
    typealias Kind = OperationalEventKind

    let kind: Kind
    let time: Timestamp
    /// A sentence for people.
    let words: String
    var queue: QueueName?
    var device: DeviceID?
    /// Additional JSON members by name.
    var details: [(name: String, value: String)] = []

    static func == (left: OperationalEvent, right: OperationalEvent) -> Bool {
        left.kind == right.kind && left.time == right.time && left.words == right.words && left.queue == right.queue
            && left.device == right.device && left.details.elementsEqual(right.details, by: ==)
    }

    /// The body of the webhook (Standard Webhooks).
    var body: String {
        "{\"type\":\(JSONText.quoted(kind.rawValue)),\"timestamp\":\"\(time.rfc3339)\",\"data\":\(data)}"
    }

    private var data: String {
        var json = JSONLine()
        json.add("words", words)
        json.add("device", device.map { Int64($0.rawValue) })
        json.add("platform", queue?.platform)
        json.add("app", queue?.app)
        for detail in details { json.add(detail.name, detail.value) }
        return json.text
    }

    /// The names of the additional members.
    static let detailNames = ["reason", "status", "until", "what", "ends_at", "plugins", "relay", "since"]
}
