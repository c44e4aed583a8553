import Core

/// Sends messages that a person reads in a generic client such as ntfy or Gotify.
///
/// A wake-up becomes a sentence from the configuration. Sealed ones are unsupported: no app could decrypt them.
///
/// ```swift
/// return sender.send(.init(url: url), notification, ticket, wake: wake, readable: readable) { response, now in
///     PushServiceAnswer(response, now: now).outcome
/// }
/// ```
public struct ReadableSender: Sendable {
    /// A request without its body, and the functions that make the body and interpret the response.
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
    public init(configuration: JSONObject, host: Host, now: @escaping @Sendable () -> Timestamp) throws(PluginError) {
        try configuration.refuseMembers(except: ["wake_message", "batch_message"])
        wakeTexts = try WakeTexts(configuration)
        self.host = host
        clock = now
    }

    public var now: Timestamp { clock() }

    /// Posts a JSON body. `wake` makes it for a wake-up from the operator's sentence, `readable` for notifications with
    /// texts. `outcome` interprets the response; its second argument is the time.
    public func send(
        _ message: Message,
        _ notification: borrowing Notification,
        _ ticket: Ticket,
        wake: (borrowing Notification, String) throws(ReadableMessageError) -> [UInt8],
        readable: (borrowing Notification) throws(ReadableMessageError) -> [UInt8],
        outcome: @escaping @Sendable (borrowing HTTPResponse, Timestamp) -> Outcome
    ) -> Acceptance {
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

/// The texts of a wake-up for a person to read: `wake_message` and `batch_message` of a platform's block.
public struct WakeTexts: Sendable {
    /// The placeholder for the number of events in `batch_message`.
    private static let placeholder = "{n}"
    private static let limit = 200

    private let single: String
    private let batch: String

    /// Throws if a text is empty or longer than 200 bytes.
    public init(_ block: JSONObject) throws(PluginError) {
        single = try WakeTexts.text(block, "wake_message") ?? "New notification"
        batch = try WakeTexts.text(block, "batch_message") ?? "{n} new notifications"
    }

    /// Returns the text for `count` events.
    public func text(count: UInt32) -> String {
        guard count > 1 else { return single }
        guard let place = batch.firstRange(of: WakeTexts.placeholder) else { return batch }
        return batch[..<place.lowerBound] + String(count) + batch[place.upperBound...]
    }

    private static func text(_ block: JSONObject, _ key: StaticString) throws(PluginError) -> String? {
        let expected = "a text of 1 to \(limit) bytes"
        guard let text = try block.text(key, expected: expected) else { return nil }
        guard (1...limit).contains(text.utf8.count) else { throw PluginError("\(key): expected \(expected)") }
        return text
    }
}

extension JSONWriter {
    /// Writes the members `title` and `message` for a person to read. A title without a body becomes the message,
    /// because services require a message.
    public mutating func readableTexts(
        of notification: borrowing Notification,
        within limits: FittedPayload.Limits
    ) -> FittedPayload.Lengths {
        var lengths = FittedPayload.Lengths()
        guard !notification.body.isEmpty else {
            key("message")
            lengths.title = string(notification.title, limit: limits.title)
            return lengths
        }
        if !notification.title.isEmpty {
            key("title")
            lengths.title = string(notification.title, limit: limits.title)
        }
        key("message")
        lengths.body = string(notification.body, limit: limits.body)
        return lengths
    }
}

/// An error about a notification that cannot become a message for a person; the raw value labels an outcome.
public enum ReadableMessageError: String, Error {
    /// The rule's block is not a JSON object.
    case badNative = "bad-native"
    /// A text would change the destination of the URL.
    case badURL = "bad-url"
    /// There is nothing to show.
    case empty = "payload-empty"
    /// The message is too large, even with its texts shortened.
    case tooLarge = "payload-too-large"
}
