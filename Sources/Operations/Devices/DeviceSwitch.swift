import RouterConfiguration

/// Switches a device on again: in a running router, else on the files.
package struct DeviceSwitch {
    private let configuration: Configuration

    package init(configuration: Configuration) {
        self.configuration = configuration
    }

    /// Throws an ``OperationFailure`` when there is no such device, or no way to change it.
    package func enable(_ device: Int64) async throws -> EnabledDevice {
        let router = RouterOrFiles(configuration: configuration)
        if let answer: EnabledDevice = try await router.ask("POST", "/v1/devices/\(device)/enable", [:]) {
            return answer
        }
        return try router.files().operations.enable(device)
    }
}

/// A device that an operator switched on again.
package struct EnabledDevice: OperatorAnswer, Equatable {
    /// As it is now.
    package var device: DeviceOverview
    /// Whether it was off before.
    package var wasOff: Bool

    package var text: String {
        wasOff
            ? "device \(device.device), \(device.platform)/\(device.app), of \(device.npub) is switched on again"
            : "device \(device.device) was not switched off"
    }
}
