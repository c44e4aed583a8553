import Core
import Nostr
import Push

/// The data of a device that matching needs: 28 bytes each, so a million fit in memory.
package struct DeviceEntry: Hashable, Sendable {
    package var device: DeviceID
    /// Since when its slot has held a device without interruption.
    package var firstRegisteredAt: Timestamp
    package var signals: SignalSet
    package var route: RouteID
    /// The language of the rules' texts for it.
    package var language: LanguageID
    /// The mode plus one, or zero for none, combined with ``sealingKeyBit``.
    private let traits: UInt8

    private static let sealingKeyBit: UInt8 = 0x80

    package init(
        device: DeviceID,
        firstRegisteredAt: Timestamp,
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

    /// Whether the registration named a separate key for sealing.
    package var hasSealingKey: Bool { traits & Self.sealingKeyBit != 0 }
}

/// A key that belongs to an account.
package struct MatchHit: Hashable, Sendable {
    /// How a key belongs to an account.
    package enum Tie: UInt8, Hashable, Sendable {
        /// The account's own key.
        case account
        /// A key that the account receives messages under (`dm_key` in its kind 10050).
        case messageKey
    }

    /// The index of the key in the request.
    package var position: Int32
    package var account: AccountNumber
    package var tie: Tie = .account

    /// Whether an event of that kind concerns the account. Under a key for messages, only gift wraps (NIP-59) do.
    package func counts(for kind: Kind) -> Bool {
        switch tie {
        case .account: true
        case .messageKey: kind == .giftWrap || kind == .ephemeralGiftWrap
        }
    }
}

/// The number of an account in a ``MatchIndex``. Valid until the index changes.
package struct AccountNumber: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }
}

/// A platform and an app, which together select the plugin and its configuration for a device.
package struct Route: Hashable, Sendable {
    package var platform: String
    package var app: String

    package init(platform: String, app: String) {
        self.platform = platform
        self.app = app
    }
}

/// The number of a ``Route``, which never changes within a registry.
package struct RouteID: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) {
        self.rawValue = rawValue
    }
}
