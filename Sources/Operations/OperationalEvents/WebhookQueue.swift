import Units

/// What waits for one endpoint, and when each message is tried. Knows no network.
///
/// The schedule is public: at once, then after 5 seconds, 5 minutes, half an hour, 2, 5, 10 and 10 hours.
struct WebhookQueue {
    struct Message: Sendable, Equatable {
        /// The value of `webhook-id`, the same on every attempt.
        let id: String
        let body: [UInt8]
        fileprivate(set) var attempts = 0
        fileprivate(set) var due: Deadline

        init(id: String, body: [UInt8], due: Deadline) {
            self.id = id
            self.body = body
            self.due = due
        }
    }

    enum Verdict: Sendable, Equatable {
        case taken
        case failed
        /// The endpoint is gone for good (410): nothing is sent there any more.
        case gone
    }

    static let pauses: [Duration] = [
        .seconds(5), .minutes(5), .minutes(30), .hours(2), .hours(5), .hours(10), .hours(10),
    ]
    static let most = 500

    private(set) var messages: [Message] = []
    private var isSending = false
    private var isGone = false
    /// Messages that were given up.
    private(set) var lost = 0

    /// When the next is due, while none is on its way; nil: none waits.
    var due: Deadline? { isSending ? nil : messages.map(\.due).min() }

    /// The oldest go where there are too many.
    mutating func add(_ message: Message) {
        guard !isGone else {
            lost += 1
            return
        }
        messages.append(message)
        if messages.count > Self.most {
            messages.remove(at: isSending ? 1 : 0)
            lost += 1
        }
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
        case .taken: messages.removeFirst()
        case .gone:
            lost += messages.count
            messages = []
            isGone = true
        case .failed:
            let attempts = messages[0].attempts
            guard attempts < Self.pauses.count else {
                messages.removeFirst()
                lost += 1
                return
            }
            messages[0].attempts += 1
            messages[0].due = now + Self.pauses[attempts]
        }
    }
}
