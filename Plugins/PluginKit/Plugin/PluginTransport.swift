public import CarillonABI

/// One kind of push service, for one app of the operator: turns notifications into requests and answers into outcomes.
///
/// Conforming is the whole of a transport plugin's work; the C ABI around it is ``PluginDescriptor``'s. Every method
/// may be called on any thread, several at once, and must return promptly: the host does the networking, the retrying
/// and the waiting.
///
/// The whole of `deliver` of a transport that posts the title to the device's own URL:
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
    /// What registrations and the configuration call it, such as `ios`: unique among a router's transports.
    static var platform: StaticString { get }

    /// The JSON document that says what the platform is, as `carillon/describe.schema.json` describes it. The default
    /// is nil: rules then say `native:`, and the block is not checked.
    static var description: StaticString? { get }

    /// Checks a rule's block beyond what ``description`` can say. Values that hold a variable are absent.
    ///
    /// Throws a ``PluginError`` with a place, see ``PluginError/init(at:_:)``. The same answer every time. The default
    /// accepts everything.
    static func check(_ block: JSONObject) throws(PluginError)

    /// Reads this platform's block of one app. No network; reading files that the block names is fine.
    ///
    /// Throws a ``PluginError`` that names the key and says what was expected, and never a secret.
    init(configuration: JSONObject, host: Host) throws(PluginError)

    /// Throws when `registration` cannot be one of this platform's. The same answer every time.
    func validate(_ registration: borrowing Registration) throws(PluginError)

    /// Starts to deliver. After ``Admission/accepted`` the ticket is completed once, from any thread, perhaps before
    /// this returns; after anything else what happens to the ticket is ignored.
    func deliver(
        _ ticket: Ticket,
        _ registration: borrowing Registration,
        _ notification: borrowing Notification
    ) -> Admission

    /// The most deliveries that ``deliverMany(_:)`` takes: 2 to 1,000. The default is 0: it is never called.
    static var deliverManyLimit: Int { get }

    /// Whether ``deliverMany(_:)`` gets only what goes to one token. The default is false.
    static var manyPerToken: Bool { get }

    /// Starts to deliver several notifications that one request can carry. After ``Admission/accepted`` each ticket is
    /// completed once; after anything else none of them is. After ``Admission/unsupported``, which is the default, each
    /// goes to ``deliver(_:_:_:)``.
    func deliverMany(_ deliveries: borrowing DeliveryList) -> Admission

    /// Please complete the ticket of that number soon. The default does nothing: an answer or the request's timeout
    /// ends it.
    func cancel(_ number: UInt64)

    /// An operator's command for the push service, as in `carillon push ios channels list`. After
    /// ``Admission/accepted`` `completion` is called once, from any thread. The single word `help` lists the commands.
    /// The default knows none.
    func command(_ words: [String], completion: @escaping @Sendable (CommandAnswer) -> Void) -> Admission

    /// Takes a request from outside, see ``InboundRequest``. After ``Admission/accepted`` `answer` is called once, from
    /// any thread, within 10 seconds; after anything else the router answers: 400 for ``Admission/invalid``, 404 for
    /// ``Admission/unsupported``, which is the default, 503 for ``Admission/busy`` and 500 for ``Admission/failed``.
    func receive(_ request: InboundRequest, answer: @escaping @Sendable (InboundAnswer) -> Void) -> Admission
}

extension PluginTransport {
    /// None: the platform is not described.
    public static var description: StaticString? { nil }

    /// Accepts every block.
    public static func check(_ block: JSONObject) throws(PluginError) {}

    /// None: deliveries come one by one.
    public static var deliverManyLimit: Int { 0 }

    /// Without meaning where deliveries come one by one.
    public static var manyPerToken: Bool { false }

    /// Has each delivered by itself.
    public func deliverMany(_ deliveries: borrowing DeliveryList) -> Admission { .unsupported }

    /// Does nothing: the delivery ends by itself.
    public func cancel(_ number: UInt64) {}

    /// Knows no commands, and says so.
    public func command(_ words: [String], completion: @escaping @Sendable (CommandAnswer) -> Void) -> Admission {
        .unsupported
    }

    /// Takes none: whoever asks finds nothing there.
    public func receive(
        _ request: InboundRequest,
        answer: @escaping @Sendable (InboundAnswer) -> Void
    ) -> Admission { .unsupported }
}

/// Whether a transport took a delivery on.
public enum Admission: Sendable {
    /// The ticket will be completed.
    case accepted
    /// Not now: try again later.
    case busy
    /// The registration or the notification is malformed; trying again does not help.
    case invalid
    /// The transport cannot do this, such as a mode it does not know; trying again does not help.
    case unsupported
    /// Something went wrong here; trying again may help.
    case failed

    /// The ABI's word for it.
    public var status: carillon_status {
        switch self {
        case .accepted: .CARILLON_OK
        case .busy: .CARILLON_BUSY
        case .invalid: .CARILLON_INVALID
        case .unsupported: .CARILLON_UNSUPPORTED
        case .failed: .CARILLON_FAILED
        }
    }

    /// What a refusal by the host's HTTP service means for the delivery that wanted it.
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

/// What came of an operator's command.
public struct CommandAnswer: Sendable, Hashable {
    /// Whether it did what was asked for.
    public var isGood: Bool
    /// For people or a program: what was asked for, or what is wrong and what was expected. Never a secret.
    public var text: String

    /// An answer to an operator's command; `text` is printed as it is.
    public init(isGood: Bool, text: String) {
        self.isGood = isGood
        self.text = text
    }
}

/// Several deliveries that one request may carry; borrowed for the duration of a call.
///
/// ```swift
/// func deliverMany(_ deliveries: borrowing DeliveryList) -> Admission {
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

    /// Nil if there are none, or the host breaks its promise and leaves something out.
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

    /// How many there are: 2 to ``PluginTransport/deliverManyLimit``.
    public var count: Int { deliveries.count }

    /// The ticket of the delivery at `index`, which is below ``count``. It may be kept.
    public func ticket(_ index: Int) -> Ticket { deliveries[index].ticket }

    /// Lends the delivery at `index`, which is below ``count``.
    public func withDelivery<Result, Failure: Error>(
        _ index: Int,
        _ body: (borrowing Registration, borrowing Notification) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(Registration(deliveries[index].registration), Notification(deliveries[index].notification))
    }

    /// None was accepted: closes the tickets. False when some were completed all the same; the rest is then accepted
    /// too, as a list is taken whole or not at all.
    func withdraw() -> Bool {
        guard !deliveries.contains(where: \.ticket.isCompleted) else { return false }
        for delivery in deliveries { _ = delivery.ticket.withdraw() }
        return true
    }
}

extension carillon_delivery: GrowingStruct {}

extension TransportBox {
    /// The body of the ABI's `deliver_many`.
    package func deliverMany(
        _ deliveries: UnsafePointer<UnsafePointer<carillon_delivery>?>?,
        count: Int
    ) -> carillon_status {
        guard let list = DeliveryList(deliveries, count: count, host: host) else { return .CARILLON_INVALID }
        let admission = instance.deliverMany(list)
        // A list of which something was completed was accepted, whatever the transport says afterwards.
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

/// Answers to the command `check`, as in `carillon push email check`: does the push service accept the configured
/// credentials? Nobody is notified for it. The first word is the verdict, which `carillon setup` reads.
extension CommandAnswer {
    /// The push service accepts the credentials; `detail` says whose they are.
    public static func accepted(_ detail: String = "") -> CommandAnswer {
        CommandAnswer(isGood: true, text: detail.isEmpty ? "accepted" : "accepted: \(detail)")
    }

    /// The push service refuses them; `reason` is one of ours, never the push service's text.
    public static func refused(_ reason: String) -> CommandAnswer {
        CommandAnswer(isGood: false, text: "refused: \(reason)")
    }

    /// What an attempt with the credentials ended in says of them: a passing failure says nothing.
    public static func check(_ outcome: Outcome) -> CommandAnswer {
        let status = outcome.status == 0 ? "" : " (\(outcome.status))"
        return switch outcome.kind {
        case .misconfigured: .refused(outcome.reason + status)
        case .retry: CommandAnswer(isGood: false, text: "unknown: \(outcome.reason)\(status)")
        case .delivered, .gone, .rejected: .accepted()
        }
    }

    /// The line about `check` in the answer to `help`.
    public static let helpOnCheck = CommandAnswer(
        isGood: true,
        text: "check    whether the credentials are accepted; sends no message"
    )
}
