import Notifications
import Units
import WakeUps

/// Makes attempts: finds where each goes, hands it to its transport, and passes the outcome on.
struct AttemptSender: Sendable {
    /// After so many attempts the threads that carry them are woken: once for many, and early enough to work while the
    /// rest is prepared.
    private static let attemptsTogether = 64

    /// Attempts for a transport that takes several at once.
    private struct Batch {
        let transport: any Transport
        var attempts: [DeliveryAttempt] = []
    }

    private let resolver: AddressResolver
    private let capacity: OutboxCapacity
    private let mailbox: SerialMailbox<CourierMessage>

    /// Outcomes go to `mailbox`.
    init(resolver: AddressResolver, capacity: OutboxCapacity, mailbox: SerialMailbox<CourierMessage>) {
        self.resolver = resolver
        self.capacity = capacity
        self.mailbox = mailbox
    }

    /// Looks up where `attempts` go. `accept` stores a delivery that goes to another queue from now on.
    func targets(
        of attempts: [Attempt],
        now: Timestamp,
        accept: (Delivery) throws -> Void
    ) -> [AddressResolver.Target] {
        let targets = resolver.resolve(attempts, now: now, accept: accept)
        var found: [(queue: QueueName, device: DeviceID, host: String)] = []
        // By their places, since a target has many texts.
        for place in targets.indices {
            guard case .found(let host?) = targets[place].resolution, host != CourierEnvironment.newDevices else {
                continue
            }
            let stored = targets[place].attempt.stored
            found.append((stored.delivery.queue, stored.delivery.device, host))
        }
        capacity.locate(found)
        return targets
    }

    /// Makes the attempts for those of `targets` at `places`, in order. Returns what began.
    func send(_ targets: [AddressResolver.Target], at places: [Int], now: Timestamp) -> [AttemptStart] {
        var starts: [AttemptStart] = []
        starts.reserveCapacity(places.count)
        // By the queue's index; empty where no transport takes several at once.
        var together: [Int: Batch] = [:]
        var rest = places[...]
        while !rest.isEmpty {
            WakeUps.together {
                for place in rest.prefix(Self.attemptsTogether) { begin(targets[place], now: now, &together, &starts) }
            }
            rest = rest.dropFirst(Self.attemptsTogether)
        }
        for batch in together.values { batch.transport.deliver(batch.attempts) }
        return starts
    }

    /// Makes an attempt, or notes it for a transport that takes several at once.
    private func begin(
        _ target: AddressResolver.Target,
        now: Timestamp,
        _ together: inout [Int: Batch],
        _ starts: inout [AttemptStart]
    ) {
        guard let address = target.address, let transport = target.transport else { return }
        let attempt = target.attempt
        let stored = attempt.stored
        starts.append(
            AttemptStart(
                delivery: stored.delivery.id,
                queue: stored.delivery.queue,
                attempt: stored.attempts + 1,
                age: now - stored.delivery.acceptedAt
            )
        )
        let (registeredAt, isProven) = (address.registeredAt, address.isProven)
        let completion: @Sendable (Outcome) -> Void = { [mailbox] outcome in
            switch outcome.kind {
            case .gone: mailbox.post(.gone(attempt, registeredAt: registeredAt, isProven: isProven, outcome))
            case .delivered where !isProven: mailbox.post(.proven(attempt, outcome))
            default: mailbox.post(.event(.ended(attempt, outcome)))
            }
        }
        if transport.takesMany {
            together[attempt.queue, default: Batch(transport: transport)].attempts
                .append(DeliveryAttempt(stored.delivery, to: address, completion: completion))
        } else {
            transport.deliver(stored.delivery, to: address, completion: completion)
        }
    }
}
