public import CarillonABI

/// A transport: sends notifications of one app to one kind of push service.
///
/// A transport plugin only needs to conform to this protocol; ``PluginDescriptor`` provides the C ABI around it. Every
/// method may be called on any thread, concurrently, and must return promptly: the host does the networking, retries
/// and waiting.
///
/// The complete `deliver` of a transport that posts the title to the device's own URL:
///
/// ```swift
/// var request = HTTPRequest("POST", url: registration.token.string, options: .untrustedURL)
/// request.addHeader("content-type", "text/plain")
/// request.body = Array(notification.title.string.utf8)
/// return host.send(request) { response in
///     let isAccepted = (200...299).contains(response.status)
///     ticket.complete(Outcome(isAccepted ? .delivered : .retry, status: response.status, reason: "answered"))
/// }
/// ```
public protocol PluginTransport: AnyObject, Sendable {
    /// Its name in registrations and in the configuration, such as `ios`; unique among a router's transports.
    static var platform: StaticString { get }

    /// The JSON document that describes the platform, see `carillon/describe.schema.json`. Default: nil. Rules then use
    /// `native:`, and the router does not check the block.
    static var description: StaticString? { get }

    /// Checks a rule's block beyond the schema in ``description``. Values with a variable are absent.
    ///
    /// Throws a ``PluginError`` with a position, see ``PluginError/init(at:_:)``. Must be deterministic. Default:
    /// accepts every block.
    static func check(_ block: JSONObject) throws(PluginError)

    /// Reads the app's configuration block for this platform. No network I/O; the files that it names may be read.
    ///
    /// Throws a ``PluginError`` that names the key and the expected value, never a secret.
    init(configuration: JSONObject, host: Host) throws(PluginError)

    /// Throws if `registration` is not valid for this platform. Must be deterministic.
    func validate(_ registration: borrowing Registration) throws(PluginError)

    /// Starts a delivery. After ``Acceptance/accepted`` complete the ticket once, from any thread, possibly before this
    /// returns. After any other result completing the ticket has no effect.
    func deliver(
        _ ticket: Ticket,
        _ registration: borrowing Registration,
        _ notification: borrowing Notification
    ) -> Acceptance

    /// The maximum number of deliveries for ``deliverMany(_:)``: 2 to 1,000. Default: 0, which means it is never
    /// called.
    static var deliverManyLimit: Int { get }

    /// Whether all deliveries of one ``deliverMany(_:)`` go to one token. Default: false.
    static var manyPerToken: Bool { get }

    /// Starts several deliveries that fit into one request. After ``Acceptance/accepted`` complete each ticket once;
    /// after any other result none. After ``Acceptance/unsupported``, the default, the router passes each to
    /// ``deliver(_:_:_:)``.
    func deliverMany(_ deliveries: borrowing DeliveryList) -> Acceptance

    /// Asks the transport to complete the ticket of that number soon: it is 60 s old, or the transport is being shut
    /// down. Default: does nothing; the response or the request's timeout completes it.
    func cancel(_ number: UInt64)

    /// Runs an operator's command, as in `carillon push ios channels list`. After ``Acceptance/accepted`` call
    /// `completion` once, from any thread. The single word `help` lists the commands. Default: there are no commands.
    func command(_ words: [String], completion: @escaping @Sendable (CommandAnswer) -> Void) -> Acceptance

    /// Handles a request from outside, see ``InboundRequest``. After ``Acceptance/accepted`` call `answer` once, from
    /// any thread, within 10 seconds. After any other result the router responds: 400 for ``Acceptance/invalid``, 404
    /// for ``Acceptance/unsupported`` (the default), 503 for ``Acceptance/busy`` and 500 for ``Acceptance/failed``.
    func receive(_ request: InboundRequest, answer: @escaping @Sendable (InboundAnswer) -> Void) -> Acceptance
}

extension PluginTransport {
    public static var description: StaticString? { nil }

    public static func check(_ block: JSONObject) throws(PluginError) {}

    public static var deliverManyLimit: Int { 0 }

    public static var manyPerToken: Bool { false }

    public func deliverMany(_ deliveries: borrowing DeliveryList) -> Acceptance { .unsupported }

    public func cancel(_ number: UInt64) {}

    public func command(_ words: [String], completion: @escaping @Sendable (CommandAnswer) -> Void) -> Acceptance {
        .unsupported
    }

    public func receive(
        _ request: InboundRequest,
        answer: @escaping @Sendable (InboundAnswer) -> Void
    ) -> Acceptance { .unsupported }
}

/// Whether a transport accepted a delivery.
public enum Acceptance: Sendable {
    /// The ticket will be completed.
    case accepted
    /// Not accepted now: try again later.
    case busy
    /// The registration or the notification is malformed; a retry does not help.
    case invalid
    /// The transport does not support this, for example a mode: the router then tries the next stricter one.
    case unsupported
    /// An internal error; a retry may help.
    case failed

    /// The status of the ABI.
    public var status: carillon_status {
        switch self {
        case .accepted: .CARILLON_OK
        case .busy: .CARILLON_BUSY
        case .invalid: .CARILLON_INVALID
        case .unsupported: .CARILLON_UNSUPPORTED
        case .failed: .CARILLON_FAILED
        }
    }

    /// Converts a status of the host's HTTP service into a delivery status.
    init(_ status: carillon_status) {
        switch status {
        case .CARILLON_OK: self = .accepted
        case .CARILLON_BUSY: self = .busy
        case .CARILLON_INVALID: self = .invalid
        case .CARILLON_UNSUPPORTED: self = .unsupported
        default: self = .failed
        }
    }
}

/// The result of an operator's command, such as `CommandAnswer(isGood: true, text: "2 channels")`.
public struct CommandAnswer: Sendable, Hashable {
    /// Whether the command succeeded.
    public var isGood: Bool
    /// Text for people or a program: the result, or what is wrong and what was expected. Never a secret.
    public var text: String

    /// Makes a result; `text` is printed unchanged.
    public init(isGood: Bool, text: String) {
        self.isGood = isGood
        self.text = text
    }
}

/// Several deliveries for one request; borrowed for the duration of a call.
///
/// ```swift
/// func deliverMany(_ deliveries: borrowing DeliveryList) -> Acceptance {
///     for index in 0..<deliveries.count {
///         let ticket = deliveries.ticket(index)
///         deliveries.withDelivery(index) { registration, notification in … }
///     }
///     return .accepted
/// }
/// ```
public struct DeliveryList: ~Copyable {
    private struct Delivery {
        let ticket: Ticket
        let registration: UnsafePointer<carillon_registration>
        let notification: UnsafePointer<carillon_notification>
    }

    private let deliveries: [Delivery]

    /// Returns nil if the list is empty or the host violates the contract by omitting a pointer.
    init?(_ start: UnsafePointer<UnsafePointer<carillon_delivery>?>?, count: Int, host: Host) {
        let all = UnsafeBufferPointer(start: start, count: start == nil ? 0 : max(0, count))
        let whole: [Delivery] = all.compactMap { pointer in
            let delivery = pointer.map(carillon_delivery.adopt)
            guard let delivery, let registration = delivery.registration, let notification = delivery.notification
            else { return nil }
            let ticket = Ticket(delivery.ticket, host: host)
            return Delivery(ticket: ticket, registration: registration, notification: notification)
        }
        guard !whole.isEmpty, whole.count == count else {
            for delivery in whole { _ = delivery.ticket.withdraw() }
            return nil
        }
        deliveries = whole
    }

    /// The number of deliveries: 2 to ``PluginTransport/deliverManyLimit``.
    public var count: Int { deliveries.count }

    /// Returns the ticket of the delivery at `index`, which is below ``count``. You may store it.
    public func ticket(_ index: Int) -> Ticket { deliveries[index].ticket }

    /// Calls `body` with the delivery at `index`, which is below ``count``.
    public func withDelivery<Result, Failure: Error>(
        _ index: Int,
        _ body: (borrowing Registration, borrowing Notification) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(Registration(deliveries[index].registration), Notification(deliveries[index].notification))
    }

    /// Closes the tickets if none was accepted. Returns false if some were completed already: the others then count as
    /// accepted too, because a list is accepted as a whole or not at all.
    func withdraw() -> Bool {
        guard !deliveries.contains(where: \.ticket.isCompleted) else { return false }
        for delivery in deliveries { _ = delivery.ticket.withdraw() }
        return true
    }
}

extension carillon_delivery: GrowingStruct {}

extension TransportBox {
    /// Implements the ABI's `deliver_many`.
    package func deliverMany(
        _ deliveries: UnsafePointer<UnsafePointer<carillon_delivery>?>?,
        count: Int
    ) -> carillon_status {
        guard let list = DeliveryList(deliveries, count: count, host: host) else { return .CARILLON_INVALID }
        let admission = instance.deliverMany(list)
        // A list with a completed ticket was accepted, whatever the transport returns afterwards.
        guard admission.status != .CARILLON_OK, list.withdraw() else { return .CARILLON_OK }
        return admission.status
    }
}

/// `deliver_many` of the table.
func deliverManyNotifications(
    _ instance: UnsafeMutableRawPointer?,
    _ deliveries: UnsafePointer<UnsafePointer<carillon_delivery>?>?,
    _ count: Int
) -> carillon_status {
    guard let instance else { return .CARILLON_INVALID }
    return TransportBox.at(instance).deliverMany(deliveries, count: count)
}

/// Results of the command `check`, as in `carillon push email check`: whether the push service accepts the configured
/// credentials. It notifies no device. `carillon setup` reads the first word.
extension CommandAnswer {
    /// The push service accepts the credentials; `detail` names their owner.
    public static func accepted(_ detail: String = "") -> CommandAnswer {
        CommandAnswer(isGood: true, text: detail.isEmpty ? "accepted" : "accepted: \(detail)")
    }

    /// The push service refuses them; `reason` is the plugin's own word, never the push service's text.
    public static func refused(_ reason: String) -> CommandAnswer {
        CommandAnswer(isGood: false, text: "refused: \(reason)")
    }

    /// Converts the outcome of an attempt with the credentials; a transient error proves nothing about them.
    public static func check(_ outcome: Outcome) -> CommandAnswer {
        let status = outcome.status == 0 ? "" : " (\(outcome.status))"
        return switch outcome.kind {
        case .misconfigured: .refused(outcome.reason + status)
        case .retry: CommandAnswer(isGood: false, text: "unknown: \(outcome.reason)\(status)")
        case .delivered, .gone, .rejected: .accepted()
        }
    }

    /// The line about `check` in the output of `help`.
    public static let helpOnCheck = CommandAnswer(
        isGood: true,
        text: "check    check that the credentials are accepted; sends no message"
    )
}
