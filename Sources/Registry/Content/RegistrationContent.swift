import Nostr
import Notifications

/// What a registration says once it is decrypted (seed 004 section 7): where to push, and what for.
package struct RegistrationContent: Hashable, Sendable {
    /// How long it may be, in bytes of UTF-8.
    package static let longest = RegistrationLimits.content

    /// The transport asked for, such as `ios`.
    package var platform: String
    /// The operator's app block; `default` when the registration names none.
    package var app: String
    /// The device token; for `unifiedpush`, `web`, `ntfy` and `gotify` the endpoint URL.
    package var token: String
    /// The code that was pushed to a target that somebody else has (``ChosenTarget``).
    package var code: String?
    /// What a transport needs besides the token: `p256dh` and `auth` of a subscription, and every further text field
    /// that the core has no use for, so that a new platform's plugin can ask its clients for what it likes.
    package var fields: [String: String]
    /// What the device wants to be woken for.
    package var signals: Set<Signal>
    /// Nil: the operator's default.
    package var mode: Mode?
    package var quiet: QuietHours?
    package var batch: BatchWishes
    /// Which filters of plugins it switches on or off (`filter_plugins`).
    package var filterSwitches: FilterSwitches
    /// What the owner calls the device.
    package var device: String?
    /// A BCP 47 tag.
    package var locale: String?
    /// The x-only key (BIP-340) made for sealing to this device. Among ``fields`` too, so that it is kept as secret as they are.
    package var sealingKey: PublicKey?
    /// Relays to watch on the account's behalf instead of its NIP-65 list.
    package var relays: [String]
    /// Whose wake-up hints count (kind 20062).
    package var partners: [PublicKey]
    /// Whether the same token may serve several accounts at once.
    package var shared: Bool
    /// The whole text as it came, unknown fields included.
    package var json: String

    var wishes: DeviceWishes {
        DeviceWishes(pace: PaceWishes(quiet: quiet, batch: batch), filters: filterSwitches)
    }

    /// What ``locale`` says, if it is a language tag.
    var language: LanguageTag? { locale.flatMap { LanguageTag($0) } }

    /// Where this registration points to.
    package func address(registeredAt: Int64) -> DeviceAddress {
        DeviceAddress(platform: platform, app: app, token: token, fields: fields, registeredAt: registeredAt)
    }
}
