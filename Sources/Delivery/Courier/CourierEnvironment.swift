import Dispatch
import Notifications

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
    /// Milliseconds since 1970.
    package var now: @Sendable () -> Int64
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
        now: @escaping @Sendable () -> Int64,
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
    /// Calls `action` once, on any thread, at `time` (milliseconds since 1970). It may call early.
    func ring(at time: Int64, _ action: @escaping @Sendable () -> Void)
}

/// An ``Alarm`` on the system's own timers.
package struct DispatchAlarm: Alarm {
    private let now: @Sendable () -> Int64
    // A clock that is set while something waits is noticed within a minute.
    private static let longestSleep: Int64 = 60_000

    /// `now` gives milliseconds since 1970.
    package init(now: @escaping @Sendable () -> Int64) {
        self.now = now
    }

    package func ring(at time: Int64, _ action: @escaping @Sendable () -> Void) {
        let wait = min(max(0, time.subtractingReportingOverflow(now()).partialValue), Self.longestSleep)
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(Int(wait)), execute: action)
    }
}
