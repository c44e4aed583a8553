import Delivery
import HTTPLanes
import Notifications
import Operations
import Registry
import Rules
import Units
import YAMLReading

/// What the parts of the router have to say against a registration before it is taken.
struct RegistrationChecks: Sendable {
    let transports: ActiveTransports
    let lanes: HTTPLanes
    let settings: ActiveSettings

    /// Refuses an address that no transport serves or likes the look of, and one where nothing could ever be sent.
    @Sendable func address(_ address: DeviceAddress) throws {
        try transports.check(address)
        guard address.token.hasPrefix("https://") || address.token.hasPrefix("http://") else { return }
        switch lanes.objection(toUserURL: address.token) {
        case nil: return
        case .forbiddenAddress?:
            throw RegistrationRejection.blocked(
                "the endpoint is at an address that is private or reserved, where this router sends nothing"
            )
        case _?:
            throw RegistrationRejection.invalid(
                "the endpoint: expected a URL with a name, or an address in its usual spelling, and without a user"
            )
        }
    }

    /// Knows the signals that everybody has and those of the rules in force.
    @Sendable func signal(_ name: String) -> String? {
        let known = Signal.wellKnown.map(\.rawValue)
        if known.contains(name) { return nil }
        let named = settings.rules.namedSignals
        if named.contains(Signal(rawValue: name)) { return nil }
        let all = known + named.map(\.rawValue).filter { !known.contains($0) }.sorted()
        let hint = NearestName.hint(name, among: all)
        return "the name of a signal" + (hint.isEmpty ? ": \(all.joined(separator: ", "))" : hint)
    }
}

/// The registry as the courier knows it: registered devices, and those that the sealed ingress met.
struct RegisteredDevices: DeviceDirectory {
    let registry: Registry

    func address(of device: DeviceID) throws -> DeviceAddress? {
        device.isOfIngress ? try registry.ingressAddress(of: device) : try registry.address(of: device)
    }

    func markProven(_ devices: [DeviceID]) throws { try registry.markProven(devices) }

    func removeGone(_ device: DeviceID, registeredAt: Timestamp) throws {
        if device.isOfIngress {
            try registry.markIngressDeviceGone(device)
        } else {
            try registry.removeGone(device, registeredAt: registeredAt)
        }
    }
}
