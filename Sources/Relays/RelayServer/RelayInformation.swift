import Core
import Foundation

/// The information document of this relay with its limits (NIP-11).
package struct RelayInformation: Encodable, Sendable {
    package var name: String
    package var description: String
    /// The router's public key, 64 hex digits. Clients encrypt registrations to it.
    package var pubkey: String
    package var contact: String?
    /// A URL.
    package var termsOfService: String?
    /// The maximum time that an event may be dated ahead, in seconds.
    package var createdAtUpperLimit: Int64? {
        get { limitation.createdAtUpperLimit }
        set { limitation.createdAtUpperLimit = newValue }
    }
    /// The terms for clients that register; not part of NIP-11.
    package var push: PushTerms?
    private let supportedNIPs = [1, 9, 11, 40, 42, 44, 46, 62]

    package var version: String
    private var limitation: Limitation

    private struct Limitation: Encodable, Sendable {
        let maxMessageLength: Int
        let maxSubscriptions: Int
        let maxFilters: Int
        let maxSubidLength = 64
        let authRequired = false
        let paymentRequired = false
        let restrictedWrites = false
        var createdAtUpperLimit: Int64?

        private enum CodingKeys: String, CodingKey {
            case maxMessageLength = "max_message_length"
            case maxSubscriptions = "max_subscriptions"
            case maxFilters = "max_filters"
            case maxSubidLength = "max_subid_length"
            case authRequired = "auth_required"
            case paymentRequired = "payment_required"
            case restrictedWrites = "restricted_writes"
            case createdAtUpperLimit = "created_at_upper_limit"
        }
    }

    private enum CodingKeys: String, CodingKey {
        case name
        case description
        case pubkey
        case contact
        case termsOfService = "terms_of_service"
        case push
        case supportedNIPs = "supported_nips"
        case version
        case limitation
    }

    package init(
        name: String,
        description: String,
        pubkey: String,
        contact: String? = nil,
        version: String,
        limits: RelayServerConfiguration.Limits
    ) {
        self.name = name
        self.description = description
        self.pubkey = pubkey
        self.contact = contact
        self.version = version
        self.limitation = Limitation(
            maxMessageLength: limits.messageBytes.bytes,
            maxSubscriptions: limits.subscriptions,
            maxFilters: limits.filters
        )
    }

    /// The document as JSON.
    func json() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(self))
    }
}

/// The router's offer to devices, and the terms that apps need before they register: part of the NIP-11 document and of
/// the advertisement (kind 10067).
package struct PushTerms: Encodable, Equatable, Sendable {
    /// The limits for registrations.
    package struct Limits: Encodable, Equatable, Sendable {
        /// The maximum number of devices of one account.
        package var devicesPerAccount: Int
        /// The rate and burst of registrations signed by one key.
        package var registrationsPerHour: Int
        package var registrationBurst: Int
        /// The maximum bytes of a registration's decrypted content.
        package var contentBytes: Int
        /// The maximum time that a registration may be dated ahead, in seconds.
        package var secondsAhead: Int64
        /// The minimum cooldown and window, and the maximum number of pushes per UTC day; 0: no limit.
        package var cooldownSeconds: Int
        package var windowSeconds: Int
        package var dailyCap: Int

        package init(
            devicesPerAccount: Int,
            registrationsPerHour: Int,
            registrationBurst: Int,
            contentBytes: Int,
            secondsAhead: Int64,
            cooldownSeconds: Int,
            windowSeconds: Int,
            dailyCap: Int
        ) {
            self.devicesPerAccount = devicesPerAccount
            self.registrationsPerHour = registrationsPerHour
            self.registrationBurst = registrationBurst
            self.contentBytes = contentBytes
            self.secondsAhead = secondsAhead
            self.cooldownSeconds = cooldownSeconds
            self.windowSeconds = windowSeconds
            self.dailyCap = dailyCap
        }

        private enum CodingKeys: String, CodingKey {
            case devicesPerAccount = "devices_per_account"
            case registrationsPerHour = "registrations_per_hour"
            case registrationBurst = "registration_burst"
            case contentBytes = "content_bytes"
            case secondsAhead = "seconds_ahead"
            case cooldownSeconds = "cooldown_seconds"
            case windowSeconds = "window_seconds"
            case dailyCap = "daily_cap"
        }
    }

    /// The platforms that registrations may name, sorted.
    package var platforms: [String]
    package var limits: Limits
    /// Values of an app's transports for clients that register, by app, platform and name: for `web` the
    /// `vapid_public_keys`. Browsers subscribe with the first one.
    package var apps: [String: [String: [String: [String]]]]

    package init(platforms: [String], limits: Limits, apps: [String: [String: [String: [String]]]]) {
        self.platforms = platforms
        self.limits = limits
        self.apps = apps
    }
}
