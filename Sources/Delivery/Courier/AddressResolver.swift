import Notifications
import Storage
import Units

/// Finds where attempts go, in the registry and among the transports, and tells the registry what push services say
/// about devices.
struct AddressResolver: Sendable {
    /// The result for one attempt. `address` and `transport` are there when it can be made.
    struct Target {
        let attempt: Attempt
        let resolution: Resolution
        let address: DeviceAddress?
        let transport: (any Transport)?
    }

    let environment: CourierEnvironment
    let trouble: FailureLog

    /// Looks up all of `attempts`. `accept` stores a delivery that goes to another queue from now on.
    func resolve(_ attempts: [Attempt], now: Timestamp, accept: (Delivery) throws -> Void) -> [Target] {
        var transports: [Int: (any Transport)?] = [:]
        // Most are of the same queue as the one before.
        var last: (queue: Int, transport: (any Transport)?)?
        var failure: (any Error)?
        let targets = attempts.map { attempt in
            let delivery = attempt.stored.delivery
            let transport: (any Transport)?
            if let last, last.queue == attempt.queue {
                transport = last.transport
            } else {
                transport = transports[attempt.queue] ?? environment.transport(delivery.queue)
                transports[attempt.queue] = .some(transport)
                last = (attempt.queue, transport)
            }
            var (address, resolution): (DeviceAddress?, Resolution) = (nil, .unavailable)
            do {
                (address, resolution) = try resolve(delivery, isServed: transport != nil, accept)
            } catch {
                failure = error
            }
            return Target(attempt: attempt, resolution: resolution, address: address, transport: transport)
        }
        if let failure { trouble.occurred(failure, at: now) } else { trouble.passed(at: now) }
        return targets
    }

    private func resolve(
        _ delivery: Delivery,
        isServed: Bool,
        _ accept: (Delivery) throws -> Void
    ) throws -> (DeviceAddress?, Resolution) {
        guard let address = try environment.directory.address(of: delivery.device) else { return (nil, .unregistered) }
        guard address.platform == delivery.platform, address.app == delivery.app else {
            // A token means nothing to another push service. A crash between this and the end in the old queue repeats
            // this.
            var moved = delivery
            moved.platform = address.platform
            moved.app = address.app
            try accept(moved)
            return (nil, .moved)
        }
        // A device that has moved need not wait until its former queue is served.
        guard isServed else { return (nil, .noTransport) }
        return (address, .found(host: environment.host(address)))
    }

    /// Forgets a device that is gone, before its delivery ends. Returns the outcome of the attempt: a device that was
    /// registered anew since the attempt began stays, and gets the delivery at its new address.
    func settleGone(_ attempt: Attempt, registeredAt: Timestamp, _ outcome: Outcome) -> Outcome {
        let device = attempt.stored.delivery.device
        var again = Outcome(.retry, status: outcome.status, reason: "registered-anew")
        do {
            try environment.directory.removeGone(device, registeredAt: registeredAt)
            guard try environment.directory.address(of: device) != nil else { return outcome }
        } catch {
            trouble.occurred(error, at: environment.now())
            again.reason = "directory-unavailable"
        }
        return again
    }

    /// Notes devices whose tokens are proven. When that cannot be written the devices count as new until the next time.
    func markProven(_ devices: [DeviceID]) {
        guard !devices.isEmpty else { return }
        do {
            try environment.directory.markProven(devices)
        } catch {
            trouble.occurred(error, at: environment.now())
        }
    }
}
