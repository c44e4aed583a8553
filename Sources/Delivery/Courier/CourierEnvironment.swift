import Notifications

/// All that a courier needs from outside.
package struct CourierEnvironment: Sendable {
    /// Where deliveries wait on disk.
    package var store: any DeliveryStore
    package var directory: any DeviceDirectory
    /// The transport that serves a queue; nil: its deliveries wait. Asked anew for every batch of attempts.
    package var transport: @Sendable (QueueName) -> (any Transport)?
    /// What attempts are counted by where users choose the endpoint, such as its host, and ``newDevices`` for a token
    /// that its push service has not taken yet; nil: not counted.
    package var host: @Sendable (DeviceAddress) -> String?
    package var observer: any DeliveryObserver
    /// Milliseconds since 1970.
    package var now: @Sendable () -> Int64
    package var alarm: any Alarm
    /// Where the spread of retries comes from.
    package var random: any RandomNumberGenerator & Sendable

    /// What attempts to new devices are counted by.
    package static let newDevices = HostLimits.newDevices

    /// The host of users' choice that an address is at; nil: it is at none.
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
