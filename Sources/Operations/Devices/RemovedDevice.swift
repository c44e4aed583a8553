/// A device that an operator took out of the registry.
package struct RemovedDevice: OperatorAnswer, Equatable {
    /// As it was.
    package var removed: DeviceOverview

    package var text: String {
        "removed device \(removed.device), \(removed.platform)/\(removed.app), of \(removed.npub)\n"
            + "Its app registers it again when it sends a newer registration."
    }
}
