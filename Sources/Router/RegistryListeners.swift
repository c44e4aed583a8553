import Core
import Delivery
import Dispatch
import HTTPClient
import Logging
import Nostr
import Operations
import Push
import Registry
import Relays
import Rules
import Storage
import Synchronization

/// Checks of a registration by the router's parts before it is accepted.
struct RegistrationChecks: Sendable {
    let outgoing: Outgoing
    let settings: ActiveSettings

    /// Rejects an address that no transport accepts, or to which no request can ever be sent.
    @Sendable func address(_ address: DeviceAddress) throws {
        try outgoing.transports.check(address)
        guard address.token.hasPrefix("https://") || address.token.hasPrefix("http://") else { return }
        switch outgoing.lanes.objection(toUserURL: address.token) {
        case nil: return
        case .forbiddenAddress?:
            throw RegistrationError.blocked(
                "the endpoint is at an address that is private or reserved, where this router sends nothing"
            )
        case _?:
            throw RegistrationError.invalid(
                "the endpoint: expected a URL with a name, or an address in its usual spelling, and without a user"
            )
        }
    }

    /// Returns nil for a built-in signal or one of the active rules, else the expected value.
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

/// The device directory of the courier: devices that are registered or use the sealed ingress.
package struct RegisteredDevices: DeviceDirectory {
    let registry: Registry

    package init(registry: Registry) { self.registry = registry }

    package func address(of device: DeviceID) throws -> DeviceAddress? {
        device.isOfIngress ? try registry.ingressAddress(of: device) : try registry.address(of: device)
    }

    package func markProven(_ devices: [DeviceID]) throws { try registry.markProven(devices) }

    package func removeGone(_ device: DeviceID, registeredAt: Timestamp) throws {
        if device.isOfIngress {
            try registry.markIngressDeviceGone(device)
        } else {
            try registry.removeGone(device, registeredAt: registeredAt)
        }
    }
}

/// Forwards the registry's callbacks to parts that are made after the registry.
final class RegistryListeners: Sendable {
    private struct State {
        weak var watch: AccountWatch?
        weak var courier: Courier?
        var access: AccessList?
        var accessReceiver: (@Sendable (AccessList) -> Void)?
    }

    /// The router's name, which is the title of the push.
    private let name: String
    private let state = Mutex(State())
    /// A separate queue, so that a registration's response time does not reveal whether its target belongs to an
    /// account.
    private let codes = DispatchQueue(label: "carillon.target-codes")
    private let now: @Sendable () -> Timestamp
    private let logger: Logger

    init(name: String, now: @escaping @Sendable () -> Timestamp, logger: Logger) {
        (self.name, self.now, self.logger) = (name, now, logger)
    }

    // MARK: The receivers

    /// Sends changes of accounts to `watch` from now on. It reads all accounts when it starts.
    func follow(_ watch: AccountWatch) { state.withLock { $0.watch = watch } }

    func pushCodes(by courier: Courier) { state.withLock { $0.courier = courier } }

    /// Passes the access rules to `receiver`, immediately and after each change.
    func followAccess(_ receiver: @escaping @Sendable (AccessList) -> Void) {
        let access = state.withLock { state in
            state.accessReceiver = receiver
            return state.access
        }
        if let access { receiver(access) }
    }

    // MARK: Calls of the registry

    @Sendable func accountsChanged(_ keys: Set<PublicKey>) { state.withLock(\.watch)?.changed(keys) }

    @Sendable func accessChanged(_ access: AccessList) {
        let receiver = state.withLock { state in
            state.access = access
            return state.accessReceiver
        }
        receiver?(access)
    }

    /// Pushes a code to a target that another account wants to take over.
    @Sendable func pushCode(_ request: TargetCodeRequest) {
        codes.async { [self] in
            do {
                try state.withLock(\.courier)?.accept([delivery(of: request)])
            } catch {
                logger.error("Failed to store a code for a target", metadata: ["error": "\(error)"])
            }
        }
    }

    /// Makes the push. It names no account, because the push service can read it.
    private func delivery(of request: TargetCodeRequest) -> Delivery {
        var notification = Push.Notification.nudge(
            Signal(rawValue: "code"),
            urgency: .normal,
            NeutralTexts(
                title: name,
                body:
                    "Another account wants its notifications on this device. If that account is yours, register it again with the code "
                    + "\(request.code.text). If not, ignore this message."
            )
        )
        notification.expiresAt = request.expiresAt
        return Delivery(
            id: DeliveryIDs.fresh(),
            device: request.device,
            platform: request.route.platform,
            app: request.route.app,
            notification: notification,
            acceptedAt: now()
        )
    }
}
