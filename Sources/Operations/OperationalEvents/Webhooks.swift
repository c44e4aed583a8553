import Cipher
import Dispatch
import HTTPLanes
import Logging
import RouterConfiguration
import StandardWebhooks
import Synchronization
import Units

/// The endpoints that operational events go to. What waits for them is on disk within a moment, and goes out after a
/// restart under the same ids.
final class Webhooks: Sendable {
    private struct Endpoint {
        let url: String
        let events: Set<OperationalEventKind>
        let secrets: WebhookSecrets
        /// What it goes by on disk.
        let name: [UInt8]
        var queue: WebhookQueue
        var isInTrouble = false
    }

    private struct State {
        var endpoints: [Endpoint]
        var isStopped = false
        /// When ``sendDue()`` is called next by itself.
        var wakesAt: Deadline?
    }

    private static let timeout: Duration = .seconds(15)

    private let sender: any HTTPSender
    private let now: @Sendable () -> Timestamp
    private let monotonic: @Sendable () -> Deadline
    private let logger: Logger
    private let state: Mutex<State>
    private let queue = DispatchQueue(label: "carillon webhooks")
    /// On that queue alone.
    private let file: Mutex<WebhookFile>

    /// `path` is where what waits is kept. Throws what is wrong with a file of secrets.
    init(
        _ settings: [Configuration.OperationalEvents.Webhook],
        path: String,
        sender: any HTTPSender,
        now: @escaping @Sendable () -> Timestamp,
        monotonic: @escaping @Sendable () -> Deadline,
        logger: Logger
    ) throws(WebhookSecrets.Mistake) {
        // An endpoint's slowness is no push service's affair.
        self.sender = sender.share()
        self.now = now
        self.monotonic = monotonic
        self.logger = logger
        var endpoints: [Endpoint] = []
        var file = WebhookFile(path: path, logger: logger)
        for webhook in settings {
            let name = WebhookFile.name(of: webhook.url)
            endpoints.append(
                Endpoint(
                    url: webhook.url,
                    events: webhook.events,
                    secrets: try WebhookSecrets(file: webhook.secretFile),
                    name: name,
                    queue: WebhookQueue(kept: file.messages(for: name, at: now(), monotonic()))
                )
            )
        }
        file.keepOnly(endpoints.map(\.name))
        self.file = Mutex(file)
        state = Mutex(State(endpoints: endpoints))
    }

    /// Sends what waited when the router before this one ended.
    func begin() { queue.async { [self] in sendDue() } }

    /// Sends events to the endpoints that want such ones.
    func add(_ events: [OperationalEvent]) {
        let moment = monotonic()
        let hasWork = state.withLock { state in
            var hasWork = false
            for event in events {
                let message = WebhookQueue.Message(
                    id: "evt_\(Hex.encode(SecureRandom.bytes(12)))",
                    body: Array(event.body.utf8),
                    due: moment
                )
                for index in state.endpoints.indices where state.endpoints[index].events.contains(event.kind) {
                    state.endpoints[index].queue.add(message)
                    hasWork = true
                }
            }
            return hasWork
        }
        if hasWork { queue.async { [self] in sendDue() } }
    }

    /// Sends nothing any more. What comes from here on is kept for the next start.
    func stop() { state.withLock { $0.isStopped = true } }

    /// Returns when everything that waits is on disk.
    func close() {
        queue.sync {
            keepChanges()
            file.withLock { $0.close() }
        }
    }

    private func keepChanges() {
        let changes = state.withLock { state in
            state.endpoints.indices.map { index in
                (state.endpoints[index].name, state.endpoints[index].queue.takeChanges())
            }
        }
        file.withLock { $0.write(changes, at: now(), monotonic()) }
    }

    private func sendDue() {
        keepChanges()
        let moment = monotonic()
        let due = state.withLock { state -> [(index: Int, message: WebhookQueue.Message)] in
            guard !state.isStopped else { return [] }
            return state.endpoints.indices.compactMap { index in
                state.endpoints[index].queue.next(at: moment).map { (index, $0) }
            }
        }
        for (index, message) in due { send(message, to: index) }
        let next = state.withLock { state -> Deadline? in
            guard !state.isStopped, let next = state.endpoints.compactMap(\.queue.due).min(),
                state.wakesAt.map({ next < $0 }) ?? true
            else { return nil }
            state.wakesAt = next
            return next
        }
        guard let next else { return }
        let pause = max(1, (next - moment).milliseconds)
        queue.asyncAfter(deadline: .now() + .milliseconds(Int(pause))) { [weak self] in
            self?.state.withLock { state in
                if state.wakesAt == next { state.wakesAt = nil }
            }
            self?.sendDue()
        }
    }

    private func send(_ message: WebhookQueue.Message, to index: Int) {
        let (url, secrets) = state.withLock { ($0.endpoints[index].url, $0.endpoints[index].secrets) }
        let sentAt = now()
        var headers = HTTPFields()
        headers.append("content-type", "application/json")
        headers.append("webhook-id", message.id)
        headers.append("webhook-timestamp", String(sentAt.seconds))
        headers.append("webhook-signature", secrets.signatures(id: message.id, sentAt: sentAt, body: message.body))
        var request = HTTPRequest(method: "POST", url: url, headers: headers, body: message.body)
        request.timeout = Self.timeout
        sender.send(request) { [self] result in
            let verdict: WebhookQueue.Verdict =
                switch result {
                case .success(let answer) where (200...299).contains(answer.status): .taken
                case .success(let answer) where answer.status == 410: .gone
                default: .failed
                }
            let isWorthALine = state.withLock { state in
                state.endpoints[index].queue.finish(verdict, at: monotonic())
                defer { state.endpoints[index].isInTrouble = verdict != .taken }
                return verdict != .taken && !state.endpoints[index].isInTrouble
            }
            if isWorthALine {
                // The URL may have a secret in it.
                logger.warning(
                    "An endpoint of operational_events does not take what happens",
                    metadata: ["number": "\(index + 1)", "gone": "\(verdict == .gone)"]
                )
            }
            queue.async { [self] in sendDue() }
        }
    }
}
