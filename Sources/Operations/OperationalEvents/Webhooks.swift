import Cipher
import Core
import Dispatch
import HTTPClient
import Logging
import RouterConfiguration
import Synchronization

/// The webhook endpoints for operational events. Queued messages are on disk within a moment and are sent with the same
/// ids after a restart.
final class Webhooks: Sendable {
    private struct Endpoint {
        let url: String
        let events: Set<OperationalEventKind>
        let secrets: WebhookSecrets
        /// The endpoint's name in the file.
        let name: [UInt8]
        var queue: WebhookQueue
        var isInTrouble = false
    }

    private struct State {
        var endpoints: [Endpoint]
        var isStopped = false
        /// When ``sendDue()`` runs next.
        var wakesAt: Deadline?
    }

    private static let timeout: Duration = .seconds(15)

    private let sender: any HTTPSender
    private let now: @Sendable () -> Timestamp
    private let monotonic: @Sendable () -> Deadline
    private let logger: Logger
    private let state: Mutex<State>
    private let queue = DispatchQueue(label: "carillon webhooks")
    /// Must be used on `queue` only.
    private let file: Mutex<WebhookFile>

    /// `path` is the file for queued messages. Throws the error of an unreadable secrets file.
    init(
        _ settings: [Configuration.OperationalEvents.Webhook],
        path: String,
        sender: any HTTPSender,
        now: @escaping @Sendable () -> Timestamp,
        monotonic: @escaping @Sendable () -> Deadline = Deadline.now,
        logger: Logger
    ) throws(WebhookSecrets.FormatError) {
        // A separate share, so that a slow endpoint does not affect push services.
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

    /// Sends messages that were queued before the restart.
    func begin() { queue.async { [self] in sendDue() } }

    /// Queues events for the endpoints that subscribe to them.
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

    /// Stops sending. Later messages are kept for the next start.
    func stop() { state.withLock { $0.isStopped = true } }

    /// Returns when all queued messages are on disk.
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
        sender.send(request) { [self] answer in
            let result: WebhookQueue.Result =
                switch answer {
                case .success(let response) where (200...299).contains(response.status): .taken
                case .success(let response) where response.status == 410: .gone
                default: .failed
                }
            let shouldLog = state.withLock { state in
                state.endpoints[index].queue.finish(result, at: monotonic())
                defer { state.endpoints[index].isInTrouble = result != .taken }
                return result != .taken && !state.endpoints[index].isInTrouble
            }
            if shouldLog {
                // The URL may contain a secret.
                logger.warning(
                    "An operational_events endpoint rejected messages",
                    metadata: ["number": "\(index + 1)", "gone": "\(result == .gone)"]
                )
            }
            queue.async { [self] in sendDue() }
        }
    }
}

/// The queue of one endpoint with its retry schedule. It uses no network or disk: ``takeChanges()`` returns the changes
/// to store.
///
/// The schedule is public: immediately, then after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h and 10 h.
struct WebhookQueue {
    struct Message: Sendable, Equatable {
        /// The value of `webhook-id`, the same for every attempt.
        let id: String
        let body: [UInt8]
        fileprivate(set) var attempts: Int
        fileprivate(set) var due: Deadline

        init(id: String, body: [UInt8], attempts: Int = 0, due: Deadline) {
            self.id = id
            self.body = body
            self.attempts = attempts
            self.due = due
        }
    }

    enum Result: Sendable, Equatable {
        case taken
        case failed
        /// The endpoint responded 410: no more messages are sent to it.
        case gone
    }

    /// A change to store on disk.
    enum Change: Sendable, Equatable {
        /// Replaces the stored message with the same id.
        case put(Message)
        case remove(id: String)
    }

    static let pauses: [Duration] = [
        .seconds(5), .minutes(5), .minutes(30), .hours(2), .hours(5), .hours(10), .hours(10),
    ]
    static let most = 500

    private(set) var messages: [Message] = []
    private var isSending = false
    private var isGone = false
    private var changes: [Change] = []
    /// The number of abandoned messages.
    private(set) var lost = 0

    /// `kept` are the stored messages in order of arrival.
    init(kept: [Message] = []) {
        messages = Array(kept.suffix(Self.most))
        changes = kept.dropLast(messages.count).map { .remove(id: $0.id) }
    }

    /// When the next message is due; `nil` if one is in flight or none is queued.
    var due: Deadline? { isSending ? nil : messages.map(\.due).min() }

    /// Returns the changes since the last call.
    mutating func takeChanges() -> [Change] {
        defer { changes = [] }
        return changes
    }

    /// Adds a message, and drops the oldest if there are too many.
    mutating func add(_ message: Message) {
        guard !isGone else {
            lost += 1
            return
        }
        messages.append(message)
        changes.append(.put(message))
        if messages.count > Self.most { giveUp(at: isSending ? 1 : 0) }
    }

    /// Returns the next due message and marks it as in flight. Only one is in flight, to spare a failing endpoint.
    mutating func next(at now: Deadline) -> Message? {
        guard !isSending, let index = messages.indices.min(by: { messages[$0].due < messages[$1].due }),
            messages[index].due <= now
        else { return nil }
        isSending = true
        messages.swapAt(0, index)
        return messages[0]
    }

    mutating func finish(_ result: Result, at now: Deadline) {
        guard isSending, !messages.isEmpty else { return }
        isSending = false
        switch result {
        case .taken: changes.append(.remove(id: messages.removeFirst().id))
        case .gone:
            while !messages.isEmpty { giveUp(at: 0) }
            isGone = true
        case .failed:
            let attempts = messages[0].attempts
            guard attempts < Self.pauses.count else { return giveUp(at: 0) }
            messages[0].attempts += 1
            messages[0].due = now + Self.pauses[attempts]
            changes.append(.put(messages[0]))
        }
    }

    private mutating func giveUp(at index: Int) {
        changes.append(.remove(id: messages.remove(at: index).id))
        lost += 1
    }
}
