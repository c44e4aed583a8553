import Notifications

/// What the courier needs of the registry.
package protocol DeviceDirectory: Sendable {
    /// Where `device` is now; nil when it is registered no more.
    func address(of device: DeviceID) throws -> DeviceAddress?
    /// Forgets a device that its push service called gone. `registeredAt` is the one of the address that was tried: a
    /// device registered anew since then stays.
    func removeGone(_ device: DeviceID, registeredAt: Int64) throws
    /// The push service took a push for the token of each of these devices, for the first time.
    func markProven(_ devices: [DeviceID]) throws
}

extension DeviceDirectory {
    /// For directories in which every device counts as proven.
    package func markProven(_ devices: [DeviceID]) throws {}
}
