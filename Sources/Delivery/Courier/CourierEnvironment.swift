import Core
import Dispatch
import Push

/// What a courier depends on.
package struct CourierEnvironment: Sendable {
    /// Where deliveries wait on disk.
    package var store: any DeliveryStore
    package var directory: any DeviceDirectory
    /// The transport that serves a queue; nil: its deliveries wait. Called again for every batch of attempts.
    package var transport: @Sendable (QueueName) -> (any Transport)?
    /// What attempts to an address are counted by: its host, where users choose the endpoint, or ``newDevices`` for a
    /// token that its push service has not accepted yet; nil: not counted.
    package var host: @Sendable (DeviceAddress) -> String?
    package var observer: any DeliveryObserver
    package var now: @Sendable () -> Timestamp
    package var alarm: any Alarm
    /// Spreads retries over time.
    package var random: any RandomNumberGenerator & Sendable

    /// Stands for new devices in place of a host.
    package static let newDevices = HostLimits.newDevices

    /// The host of an address, if its user chose that; else nil.
    func chosenHost(_ address: DeviceAddress) -> String? {
        host(address).flatMap { $0 == Self.newDevices ? nil : $0 }
    }

    package init(
        store: any DeliveryStore,
        directory: any DeviceDirectory,
        observer: any DeliveryObserver,
        now: @escaping @Sendable () -> Timestamp,
        alarm: any Alarm,
        random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator(),
        host: @escaping @Sendable (DeviceAddress) -> String? = { _ in nil },
        transport: @escaping @Sendable (QueueName) -> (any Transport)?
    ) {
        self.store = store
        self.directory = directory
        self.observer = observer
        self.now = now
        self.alarm = alarm
        self.random = random
        self.host = host
        self.transport = transport
    }
}

/// What the courier needs from the registry.
package protocol DeviceDirectory: Sendable {
    /// Where `device` is now; nil when it is no longer registered.
    func address(of device: DeviceID) throws -> DeviceAddress?
    /// Forgets a device that its push service called gone. `registeredAt` belongs to the address that was tried: a
    /// device that was registered anew since then stays.
    func removeGone(_ device: DeviceID, registeredAt: Timestamp) throws
    /// Notes that the push service accepted a push for the token of each of `devices` for the first time.
    func markProven(_ devices: [DeviceID]) throws
}

extension DeviceDirectory {
    /// For directories in which every device counts as proven.
    package func markProven(_ devices: [DeviceID]) throws {}
}

/// Calls back at a time. The courier waits in no other way.
package protocol Alarm: Sendable {
    /// Calls `action` once, on any thread, at `time`. It may call early.
    func ring(at time: Timestamp, _ action: @escaping @Sendable () -> Void)
}

/// An ``Alarm`` on the system's own timers.
package struct DispatchAlarm: Alarm {
    private let now: @Sendable () -> Timestamp
    // A clock that is set while something waits is noticed within a minute.
    private static let longestSleep: Duration = .minutes(1)

    package init(now: @escaping @Sendable () -> Timestamp) {
        self.now = now
    }

    package func ring(at time: Timestamp, _ action: @escaping @Sendable () -> Void) {
        let wait = min(max(.zero, time - now()), Self.longestSleep)
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(Int(wait.milliseconds)), execute: action)
    }
}

/// Limits of a courier, for each queue of one platform and app.
package struct CourierLimits: Sendable, Equatable {
    /// Attempts under way at a time, except slow ones.
    package var inFlight: Int
    /// Slow attempts under way at a time; further ones keep their places.
    package var slow: Int
    /// Deliveries in memory, at least twice `inFlight`. The rest stays on disk and is read in pages.
    package var window: Int
    /// Attempts under way at a time towards one host, where endpoints are chosen by users.
    package var inFlightPerHost: Int
    /// After this many failed attempts a delivery stands aside and lets later ones for its device pass; until then they
    /// wait behind it, in order.
    package var standAsideAfter: Int

    package init(
        inFlight: Int = 500,
        slow: Int? = nil,
        window: Int = 8192,
        inFlightPerHost: Int = 16,
        standAsideAfter: Int = 4
    ) {
        self.inFlight = max(1, inFlight)
        self.slow = slow ?? 4 * self.inFlight
        self.window = max(window, 2 * self.inFlight, 16)
        self.inFlightPerHost = max(1, inFlightPerHost)
        self.standAsideAfter = max(1, standAsideAfter)
    }

    /// After so long an attempt is slow, where endpoints are chosen by users: it leaves its place to another one, so that
    /// hosts that never respond hold up no others.
    static let slowAfter: Duration = .milliseconds(250)

    /// How long a queue pauses when its credentials are bad; doubled with every probe that fails.
    static let pauses = Pause.Length(first: .minutes(1), longest: .minutes(15))

    /// How long a host or a whole push service pauses that asked for it without saying how long; doubled each time until
    /// it accepts a delivery.
    static let breaks = Pause.Length(first: .seconds(5), longest: .minutes(15))

    /// How long a host pauses that cannot be reached, and a device whose endpoint refuses everything; doubled each time.
    static let doubts = Pause.Length(first: .seconds(5), longest: .minutes(1))

    /// Deliveries in memory that wait for a due time; beyond it the latest stay on disk alone.
    var delayed: Int { window / 2 }

    /// Deliveries read from disk at once.
    var page: Int { window / 4 }
}

/// When a delivery that failed is attempted again, and when it is given up: exponential backoff with full jitter.
package struct RetryPolicy: Sendable, Equatable {
    /// The longest wait after the first failed attempt; it doubles with every further one.
    package var base: Duration
    /// The longest wait whatever the number of attempts. A push service may ask for more.
    package var cap: Duration
    /// How long after its acceptance a delivery is given up. A notification's own `expiresAt` counts where it comes
    /// first.
    package var lifetime: Duration

    package init(
        base: Duration = .seconds(1),
        cap: Duration = .minutes(15),
        lifetime: Duration = .hours(24)
    ) {
        self.base = base
        self.cap = cap
        self.lifetime = lifetime
    }

    /// From when on `delivery` is not attempted any more.
    package func deadline(of delivery: Delivery) -> Timestamp {
        let lifetimeEnd = delivery.acceptedAt + lifetime
        let expiresAt = delivery.notification.expiresAt
        return expiresAt > .epoch ? min(expiresAt, lifetimeEnd) : lifetimeEnd
    }

    /// Whether `delivery` is still worth something when it is given up: its own end comes later, or never.
    package func outlives(_ delivery: Delivery) -> Bool {
        let expiresAt = delivery.notification.expiresAt
        return expiresAt <= .epoch || expiresAt > delivery.acceptedAt + lifetime
    }

    /// The longest wait after `attempts` failed ones.
    package func ceiling(attempts: Int) -> Duration {
        let doublings = max(0, attempts - 1)
        guard doublings < 40 else { return cap }
        let factor = 1 << doublings
        return base < cap / factor ? base * factor : cap
    }

    /// When to try again after `attempts` failed ones; nil: `delivery` has expired by then.
    ///
    /// The wait is drawn evenly between 0 and ``ceiling(attempts:)``, behind the time the push service asked
    /// for: clients with the same answer do not come back together. Who asks for longer than `delivery` lives is asked
    /// again after ``cap``: they may have meant less.
    package func nextAttempt(
        of delivery: Delivery,
        attempts: Int,
        retryAfter: Duration,
        now: Timestamp,
        random: inout some RandomNumberGenerator
    ) -> Timestamp? {
        let deadline = deadline(of: delivery)
        let believed = retryAfter < deadline - now ? retryAfter : min(retryAfter, cap)
        let jitter = Int64.random(in: 0...max(0, ceiling(attempts: attempts).milliseconds), using: &random)
        let due = now + (believed + .milliseconds(jitter))
        return due < deadline ? due : nil
    }
}
