import Units

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

    enum Verdict: Sendable, Equatable {
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

    mutating func finish(_ verdict: Verdict, at now: Deadline) {
        guard isSending, !messages.isEmpty else { return }
        isSending = false
        switch verdict {
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
