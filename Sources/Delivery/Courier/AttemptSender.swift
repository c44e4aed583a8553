import Core
import Push
import Storage

/// Sends delivery attempts: finds the address and the transport of each, passes the outcomes on, and updates devices in
/// the registry.
struct AttemptSender: Sendable {
    /// The target of one attempt. `address` and `transport` are set if the attempt can be made.
    struct Target {
        let attempt: Attempt
        let resolution: AddressLookup
        let address: DeviceAddress?
        let transport: (any Transport)?
    }

    private let environment: CourierEnvironment
    private let trouble: ErrorLog
    private let capacity: OutboxCapacity
    private let mailbox: SerialMailbox<CourierMessage>

    /// Outcomes go to `mailbox`.
    init(
        _ environment: CourierEnvironment,
        trouble: ErrorLog,
        capacity: OutboxCapacity,
        mailbox: SerialMailbox<CourierMessage>
    ) {
        self.environment = environment
        self.trouble = trouble
        self.capacity = capacity
        self.mailbox = mailbox
    }

    // MARK: Targets

    /// Looks up the targets of `attempts`. `accept` stores a delivery that moves to another queue.
    func targets(of attempts: [Attempt], now: Timestamp, accept: (Delivery) throws -> Void) -> [Target] {
        // Most attempts have the same queue as the one before.
        var last: (queue: Int, transport: (any Transport)?)?
        var failure: (any Error)?
        var located: [(queue: QueueName, device: DeviceID, host: String)] = []
        let targets = attempts.map { attempt in
            let delivery = attempt.stored.delivery
            let transport = last?.queue == attempt.queue ? last?.transport : environment.transport(delivery.queue)
            last = (attempt.queue, transport)
            var (address, resolution): (DeviceAddress?, AddressLookup) = (nil, .unavailable)
            do {
                (address, resolution) = try resolve(delivery, isServed: transport != nil, accept)
            } catch {
                failure = error
            }
            if case .found(let host?) = resolution, host != CourierEnvironment.newDevices {
                located.append((delivery.queue, delivery.device, host))
            }
            return Target(attempt: attempt, resolution: resolution, address: address, transport: transport)
        }
        capacity.locate(located)
        if let failure { trouble.occurred(failure, at: now) } else { trouble.passed(at: now) }
        return targets
    }

    private func resolve(
        _ delivery: Delivery,
        isServed: Bool,
        _ accept: (Delivery) throws -> Void
    ) throws -> (DeviceAddress?, AddressLookup) {
        guard let address = try environment.directory.address(of: delivery.device) else { return (nil, .unregistered) }
        guard address.platform == delivery.platform, address.app == delivery.app else {
            // A token is not valid at another push service. A crash between this and the end in the old queue repeats
            // this.
            var moved = delivery
            moved.platform = address.platform
            moved.app = address.app
            try accept(moved)
            return (nil, .moved)
        }
        // A device that has moved need not wait for a transport of its former queue.
        guard isServed else { return (nil, .noTransport) }
        return (address, .found(host: environment.host(address)))
    }

    // MARK: Sending

    /// Makes the attempts for the `targets` at `places`, in order. Returns the started attempts.
    func send(_ targets: [Target], at places: [Int], now: Timestamp) -> [AttemptStart] {
        var starts: [AttemptStart] = []
        starts.reserveCapacity(places.count)
        var batches: [(queue: Int, transport: any Transport, attempts: [DeliveryAttempt])] = []
        for place in places {
            guard let address = targets[place].address, let transport = targets[place].transport else { continue }
            let attempt = targets[place].attempt
            let stored = attempt.stored
            starts.append(
                AttemptStart(
                    delivery: stored.delivery.id,
                    queue: stored.delivery.queue,
                    attempt: stored.attempts + 1,
                    age: now - stored.delivery.acceptedAt
                )
            )
            if batches.last?.queue != attempt.queue { batches.append((attempt.queue, transport, [])) }
            batches[batches.count - 1].attempts.append(request(attempt, to: address))
        }
        for batch in batches { batch.transport.deliver(batch.attempts) }
        return starts
    }

    private func request(_ attempt: Attempt, to address: DeviceAddress) -> DeliveryAttempt {
        var delivery = attempt.stored.delivery
        // The device may have registered a stricter mode since the push was made.
        if let mode = address.mode { delivery.notification = delivery.notification.limited(to: mode) }
        let (registeredAt, isProven) = (address.registeredAt, address.isProven)
        return DeliveryAttempt(delivery, to: address) { [mailbox] outcome in
            switch outcome.kind {
            case .gone: mailbox.post(.gone(attempt, registeredAt: registeredAt, isProven: isProven, outcome))
            case .delivered where !isProven: mailbox.post(.proven(attempt, outcome))
            default: mailbox.post(.event(.ended(attempt, outcome)))
            }
        }
    }

    // MARK: Devices

    /// Removes a device that is gone, before its delivery ends. Returns the outcome of the attempt: a device that
    /// registered again since the attempt started is kept, and gets the delivery at its new address.
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

    /// Marks devices whose tokens are proven. If the write fails, they count as new until the next accepted push.
    func markProven(_ devices: [DeviceID]) {
        guard !devices.isEmpty else { return }
        do {
            try environment.directory.markProven(devices)
        } catch {
            trouble.occurred(error, at: environment.now())
        }
    }
}

/// The devices that worked before and whose endpoint was not found at the last attempt.
///
/// A 404 may come from a proxy in front of a restarting push service. The device only counts as gone if its endpoint is
/// still not found an hour later. A restart of the router restarts the hour.
struct NotFoundTable: Sendable {
    private struct Entry: Sendable {
        /// The registration time of the address that was tried.
        let registeredAt: Timestamp
        let since: Timestamp
    }

    /// The reason of an outcome `gone` that may come from a proxy; `plugin.h` defines it.
    static let reason = "not-found"

    private static let timeout: Duration = .hours(1)
    private static let capacity = 65_536

    private var entries = BoundedCache<DeviceID, Entry>(capacity: capacity)

    /// Records that the endpoint of a device was not found. Returns whether the first such response is an hour old,
    /// without success since.
    mutating func hasLasted(_ device: DeviceID, registeredAt: Timestamp, now: Timestamp) -> Bool {
        if let first = entries.value(of: device), first.registeredAt == registeredAt, first.since <= now {
            return now - first.since >= Self.timeout
        }
        entries.set(Entry(registeredAt: registeredAt, since: now), for: device)
        return false
    }

    /// Forgets a device, because its push service accepted a push.
    mutating func forget(_ device: DeviceID) { if entries.count > 0 { entries.remove(device) } }
}
