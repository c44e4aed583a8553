package import CarillonABI

/// What stands behind an instance pointer of the ABI.
package final class TransportBox: Sendable {
    let transport: any PluginTransport
    private let host: Host

    package init(_ transport: any PluginTransport, host: Host) {
        self.transport = transport
        self.host = host
    }

    /// The body of the ABI's `deliver`.
    package func deliver(
        _ number: UInt64,
        _ registration: UnsafePointer<carillon_registration>,
        _ notification: UnsafePointer<carillon_notification>
    ) -> carillon_status {
        let ticket = Ticket(number, host: host)
        let admission = transport.deliver(ticket, Registration(registration), Notification(notification))
        // A ticket that was completed was accepted, whatever the transport says afterwards.
        guard admission.status != .CARILLON_OK, ticket.withdraw() else { return .CARILLON_OK }
        return admission.status
    }

    /// An instance pointer that keeps the box alive until ``release(_:)``.
    func retainedPointer() -> UnsafeMutableRawPointer {
        Unmanaged.passRetained(self).toOpaque()
    }

    /// The box behind `instance`, which the host keeps alive for the duration of its call.
    static func at(_ instance: UnsafeMutableRawPointer) -> TransportBox {
        Unmanaged<TransportBox>.fromOpaque(instance).takeUnretainedValue()
    }

    static func release(_ instance: UnsafeMutableRawPointer) {
        Unmanaged<TransportBox>.fromOpaque(instance).release()
    }
}
