import Core
import Dispatch
import Push

/// The dependencies of a courier.
package struct CourierEnvironment: Sendable {
    /// The storage of deliveries.
    package var store: any DeliveryStore
    package var directory: any DeviceDirectory
    /// Returns the transport of a queue; without one its deliveries wait. Called again for every batch of attempts.
    package var transport: @Sendable (QueueName) -> (any Transport)?
    /// Returns the key for counting attempts to an address: its host, if users choose the endpoint, or ``newDevices``
    /// for a token that no push was accepted for yet. Nil means not counted.
    package var host: @Sendable (DeviceAddress) -> String?
    package var observer: any DeliveryObserver
    package var now: @Sendable () -> Timestamp
    package var alarm: any Alarm
    /// Spreads retries over time.
    package var random: any RandomNumberGenerator & Sendable

    /// The key of new devices, used instead of a host.
    package static let newDevices = HostLimits.newDevices

    /// The host of an address, if its user chose it; nil otherwise.
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

/// The courier's view of the registry.
package protocol DeviceDirectory: Sendable {
    /// Returns the current address of `device`; nil if it is no longer registered.
    func address(of device: DeviceID) throws -> DeviceAddress?
    /// Removes a device that its push service reported as gone. `registeredAt` belongs to the address that was tried: a
    /// device that registered again since then is kept.
    func removeGone(_ device: DeviceID, registeredAt: Timestamp) throws
    /// Records that the push service accepted a first push for each of `devices`.
    func markProven(_ devices: [DeviceID]) throws
}

extension DeviceDirectory {
    /// For directories in which every device counts as proven.
    package func markProven(_ devices: [DeviceID]) throws {}
}

/// Calls back at a time. The courier's only way to wait.
package protocol Alarm: Sendable {
    /// Calls `action` once, on any thread, at `time`. It may call early.
    func ring(at time: Timestamp, _ action: @escaping @Sendable () -> Void)
}

/// An ``Alarm`` that uses the system's timers.
package struct DispatchAlarm: Alarm {
    private let now: @Sendable () -> Timestamp
    // A clock change is noticed within a minute.
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
    /// The maximum number of attempts in progress, without slow ones.
    package var inFlight: Int
    /// The maximum number of slow attempts in progress that do not count for `inFlight`.
    package var slow: Int
    /// The maximum number of deliveries in memory, at least twice `inFlight`. The rest stays on disk and is read in
    /// pages.
    package var window: Int
    /// The maximum number of attempts in progress to one host, if users choose endpoints.
    package var inFlightPerHost: Int
    /// The number of failed attempts after which a delivery no longer blocks later ones to its device. Until then they
    /// wait, in order.
    package var stopBlockingAfter: Int

    package init(
        inFlight: Int = 500,
        slow: Int? = nil,
        window: Int = 8192,
        inFlightPerHost: Int = 16,
        stopBlockingAfter: Int = 4
    ) {
        self.inFlight = max(1, inFlight)
        self.slow = slow ?? 4 * self.inFlight
        self.window = max(window, 2 * self.inFlight, 16)
        self.inFlightPerHost = max(1, inFlightPerHost)
        self.stopBlockingAfter = max(1, stopBlockingAfter)
    }

    /// The time after which an attempt is slow, if users choose endpoints. A slow attempt frees its slot, so that
    /// unresponsive hosts do not delay others.
    static let slowAfter: Duration = .milliseconds(250)

    /// The length of a queue's pause if its credentials are invalid. It doubles with every failed probe.
    static let pauses = Pause.Length(first: .minutes(1), longest: .minutes(15))

    /// The length of the pause of a host or push service that asked for one without a length. It doubles until a
    /// delivery is accepted.
    static let breaks = Pause.Length(first: .seconds(5), longest: .minutes(15))

    /// The length of the pause of an unreachable host, or of a device whose endpoint refuses everything. It doubles
    /// each time.
    static let doubts = Pause.Length(first: .seconds(5), longest: .minutes(1))

    /// The maximum number of deliveries in memory that wait for a due time. Beyond it, the latest stay only on disk.
    var delayed: Int { window / 2 }

    /// The number of deliveries in a page from disk.
    var page: Int { window / 4 }
}

/// When a failed delivery is retried, and when it is abandoned: exponential backoff with full jitter.
package struct RetryPolicy: Sendable, Equatable {
    /// The longest delay after the first failed attempt; it doubles with every other one.
    package var base: Duration
    /// The longest delay for any number of attempts. A push service may request more.
    package var cap: Duration
    /// The time after acceptance until a delivery is abandoned. A notification's own `expiresAt` applies if it is
    /// earlier.
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

    /// When `delivery` is no longer attempted.
    package func deadline(of delivery: Delivery) -> Timestamp {
        let lifetimeEnd = delivery.acceptedAt + lifetime
        let expiresAt = delivery.notification.expiresAt
        return expiresAt > .epoch ? min(expiresAt, lifetimeEnd) : lifetimeEnd
    }

    /// Whether `delivery` would still be useful after it is abandoned: it expires later, or never.
    package func outlives(_ delivery: Delivery) -> Bool {
        let expiresAt = delivery.notification.expiresAt
        return expiresAt <= .epoch || expiresAt > delivery.acceptedAt + lifetime
    }

    /// The longest delay after `attempts` failed ones.
    package func ceiling(attempts: Int) -> Duration {
        let doublings = max(0, attempts - 1)
        guard doublings < 40 else { return cap }
        let factor = 1 << doublings
        return base < cap / factor ? base * factor : cap
    }

    /// When to try again after `attempts` failed ones. Nil if `delivery` expires before that.
    ///
    /// The delay is random between 0 and ``ceiling(attempts:)``, added to the delay that the push service requested, so
    /// that deliveries with the same response are not retried together. If the requested delay exceeds the lifetime of
    /// `delivery`, ``cap`` is used instead, because the request may be wrong.
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
