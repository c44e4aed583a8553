/// What a device gets here and what its app has to know before it registers: part of the NIP-11 document and of the
/// advertisement (seed 004, kind 10067).
package struct PushTerms: Encodable, Equatable, Sendable {
    /// What registrations may ask for.
    package struct Limits: Encodable, Equatable, Sendable {
        /// Devices of one account.
        package var devicesPerAccount: Int
        /// Registrations signed by one key, over time and at once.
        package var registrationsPerHour: Int
        package var registrationBurst: Int
        /// The decrypted content of a registration.
        package var contentBytes: Int
        /// How far ahead of now a registration may be dated.
        package var secondsAhead: Int64
        /// The shortest cooldown and window, and the most pushes a UTC day; 0: any.
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

    /// What registrations may name, sorted.
    package var platforms: [String]
    package var limits: Limits
    /// What the transports of an app tell those who register, by app, platform and name: for `web` the
    /// `vapid_public_keys`, of which browsers subscribe with the first.
    package var apps: [String: [String: [String: [String]]]]

    package init(platforms: [String], limits: Limits, apps: [String: [String: [String: [String]]]]) {
        self.platforms = platforms
        self.limits = limits
        self.apps = apps
    }
}
