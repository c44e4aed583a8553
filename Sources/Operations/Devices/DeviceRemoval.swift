import RouterConfiguration

/// Takes a device out of the registry: of a running router by its API, else on the files.
package struct DeviceRemoval {
    private let configuration: Configuration

    package init(configuration: Configuration) {
        self.configuration = configuration
    }

    /// Throws an ``OperationFailure`` when there is no such device, or no way to remove it.
    package func remove(_ device: Int64) async throws -> RemovedDevice {
        do {
            return try OperatorAccess(configuration, for: .changing).operations.remove(device)
        } catch let error as StoreLockError where error.isOfStoreInUse {
            guard configuration.api != nil else {
                throw OperationFailure.unavailable(
                    "a router runs here, and its configuration has no API to ask it by: stop it, or add api:"
                )
            }
            return try await APIClient(configuration: configuration).change("/v1/devices/\(device)", by: "DELETE")
        }
    }
}

/// A device that an operator took out of the registry.
package struct RemovedDevice: OperatorAnswer, Equatable {
    /// As it was.
    package var removed: DeviceOverview

    package var text: String {
        "removed device \(removed.device), \(removed.platform)/\(removed.app), of \(removed.npub)\n"
            + "Its app registers it again when it sends a newer registration."
    }
}
