import Dispatch
import Notifications
import Units

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
