import Units

/// Sends messages that a person reads in a generic client such as ntfy or Gotify.
///
/// A wake-up becomes a sentence of the operator's. Nothing can be sealed: no app would decrypt it.
public struct ReadableSender: Sendable {
    /// A request without its body, and the functions that make the body and interpret the answer.
    public struct Message {
        public var url: String
        public var headers: [(name: StaticString, value: String)] = []

        public init(url: String) {
            self.url = url
        }
    }

    private let host: Host
    private let wakeTexts: WakeTexts
    private let clock: @Sendable () -> Timestamp

    /// Reads the platform's configuration block: `wake_message` and `batch_message`.
    public init(
        configuration: JSONObject,
        host: Host,
        now: @escaping @Sendable () -> Timestamp
    ) throws(PluginError) {
        try configuration.refuseMembers(except: ["wake_message", "batch_message"])
        wakeTexts = try WakeTexts(configuration)
        self.host = host
        clock = now
    }

    public var now: Timestamp { clock() }

    /// Posts a JSON body: `wake` makes it for a wake-up from the operator's sentence, `readable` for everything with
    /// texts. `outcome` interprets the answer; its second argument is the time.
    public func send(
        _ message: Message,
        _ notification: borrowing Notification,
        _ ticket: Ticket,
        wake: (borrowing Notification, String) throws(ReadableMessageError) -> [UInt8],
        readable: (borrowing Notification) throws(ReadableMessageError) -> [UInt8],
        outcome: @escaping @Sendable (borrowing HTTPResponse, Timestamp) -> Outcome
    ) -> Admission {
        var request = HTTPRequest("POST", url: message.url, options: .untrustedURL)
        request.maxResponseBytes = 1024
        request.addHeader("content-type", "application/json")
        for header in message.headers {
            request.addHeader(header.name, header.value)
        }
        do throws(ReadableMessageError) {
            switch notification.mode {
            case .wake: request.body = try wake(notification, wakeTexts.text(count: notification.count))
            case .nudge, .alert: request.body = try readable(notification)
            case .sealed, nil: return .unsupported
            }
        } catch {
            ticket.complete(Outcome(.rejected, reason: error.rawValue))
            return .accepted
        }
        return host.send(request) { [clock] response in
            ticket.complete(outcome(response, clock()))
        }
    }
}
