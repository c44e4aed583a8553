import Notifications

/// What has to be known of a device to decide whether an event wakes it, and how: 28 bytes, a million of them in memory.
package struct DeviceEntry: Hashable, Sendable {
    package var device: DeviceID
    /// Since when its slot has held a device without a break, in milliseconds since 1970.
    package var firstRegisteredAt: Int64
    package var signals: SignalSet
    package var route: RouteID
    /// In which language the rules speak to it.
    package var language: LanguageID
    /// The mode and one, or nothing, and ``sealingKeyBit``.
    private let traits: UInt8

    private static let sealingKeyBit: UInt8 = 0x80

    package init(
        device: DeviceID,
        firstRegisteredAt: Int64,
        signals: SignalSet,
        route: RouteID,
        mode: Mode?,
        language: LanguageID = .none,
        hasSealingKey: Bool = false
    ) {
        self.device = device
        self.firstRegisteredAt = firstRegisteredAt
        self.signals = signals
        self.route = route
        self.language = language
        traits =
            (mode.map { UInt8(truncatingIfNeeded: $0.rawValue + 1) } ?? 0) | (hasSealingKey ? Self.sealingKeyBit : 0)
    }

    /// The mode that the registration asked for; nil: the operator's default.
    package var mode: Mode? { Mode(rawValue: Int32(traits & ~Self.sealingKeyBit) - 1) }

    /// Whether the registration named a key that is for sealing and nothing else.
    package var hasSealingKey: Bool { traits & Self.sealingKeyBit != 0 }
}
