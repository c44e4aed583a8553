package import CarillonABI

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
    private let deliveries: [carillon_delivery]
    private let tickets: [Ticket]

    /// Whole deliveries, at least one, each with its registration and notification.
    init(_ deliveries: [carillon_delivery], host: Host) {
        self.deliveries = deliveries
        tickets = deliveries.map { Ticket($0.ticket, host: host) }
    }

    /// How many there are: 2 to ``PluginTransport/deliverManyLimit``.
    public var count: Int { deliveries.count }

    /// The ticket of the delivery at `index`, which is below ``count``. It may be kept.
    public func ticket(_ index: Int) -> Ticket { tickets[index] }

    /// Lends the delivery at `index`, which is below ``count``.
    public func withDelivery<Result, Failure: Error>(
        _ index: Int,
        _ body: (borrowing Registration, borrowing Notification) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        guard let registration = deliveries[index].registration, let notification = deliveries[index].notification
        else { preconditionFailure("a delivery list holds whole deliveries only") }
        return try body(Registration(registration), Notification(notification))
    }

    /// None was accepted: closes the tickets. False when some were completed all the same; the rest is then accepted
    /// too, as a list is taken whole or not at all.
    func withdraw() -> Bool {
        guard !tickets.contains(where: \.isCompleted) else { return false }
        for ticket in tickets { _ = ticket.withdraw() }
        return true
    }
}

extension carillon_delivery: GrowingStruct {}

extension [carillon_delivery] {
    /// Copies of `count` deliveries; none when the host breaks its promise and leaves something out.
    fileprivate static func whole(
        _ start: UnsafePointer<UnsafePointer<carillon_delivery>?>?,
        count: Int
    ) -> [carillon_delivery] {
        guard let start, count > 0 else { return [] }
        let deliveries = UnsafeBufferPointer(start: start, count: count).compactMap { $0.map(carillon_delivery.adopt) }
        let isWhole = deliveries.allSatisfy { $0.registration != nil && $0.notification != nil }
        return isWhole && deliveries.count == count ? deliveries : []
    }
}

extension TransportBox {
    /// The body of the ABI's `deliver_many`.
    package func deliverMany(
        _ deliveries: UnsafePointer<UnsafePointer<carillon_delivery>?>?,
        count: Int
    ) -> carillon_status {
        let whole = [carillon_delivery].whole(deliveries, count: count)
        guard !whole.isEmpty else { return .CARILLON_INVALID }
        let list = DeliveryList(whole, host: host)
        let admission = transport.deliverMany(list)
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
