import Cipher
import Core
import Dispatch
import HTTPClient
import Logging
import RouterConfiguration
import Synchronization

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
        monotonic: @escaping @Sendable () -> Deadline = Deadline.now,
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
        sender.send(request) { [self] answer in
            let result: WebhookQueue.Result =
                switch answer {
                case .success(let response) where (200...299).contains(response.status): .taken
                case .success(let response) where response.status == 410: .gone
                default: .failed
                }
            let isWorthALine = state.withLock { state in
                state.endpoints[index].queue.finish(result, at: monotonic())
                defer { state.endpoints[index].isInTrouble = result != .taken }
                return result != .taken && !state.endpoints[index].isInTrouble
            }
            if isWorthALine {
                // The URL may have a secret in it.
                logger.warning(
                    "An endpoint of operational_events does not take what happens",
                    metadata: ["number": "\(index + 1)", "gone": "\(result == .gone)"]
                )
            }
            queue.async { [self] in sendDue() }
        }
    }
}

/// What waits for one endpoint, and when each message is tried. Knows no network and no disk: ``takeChanges()`` says
/// what has to be kept.
///
/// The schedule is public: at once, then after 5 seconds, 5 minutes, half an hour, 2, 5, 10 and 10 hours.
struct WebhookQueue {
    struct Message: Sendable, Equatable {
        /// The value of `webhook-id`, the same on every attempt.
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
        /// The endpoint is gone for good (410): nothing is sent there any more.
        case gone
    }

    /// What a disk has to take note of.
    enum Change: Sendable, Equatable {
        /// In place of what was kept under its id.
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
    /// Messages that were given up.
    private(set) var lost = 0

    /// `kept` are what waited when the router ended, in the order in which they came.
    init(kept: [Message] = []) {
        messages = Array(kept.suffix(Self.most))
        changes = kept.dropLast(messages.count).map { .remove(id: $0.id) }
    }

    /// When the next is due, while none is on its way; nil: none waits.
    var due: Deadline? { isSending ? nil : messages.map(\.due).min() }

    /// What changed since the last call.
    mutating func takeChanges() -> [Change] {
        defer { changes = [] }
        return changes
    }

    /// The oldest go where there are too many.
    mutating func add(_ message: Message) {
        guard !isGone else {
            lost += 1
            return
        }
        messages.append(message)
        changes.append(.put(message))
        if messages.count > Self.most { giveUp(at: isSending ? 1 : 0) }
    }

    /// One that is due, which is on its way from now on. One at a time: an endpoint in trouble is not pressed.
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
