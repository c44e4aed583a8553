extension LabConfiguration {
    /// How the lab plays FCM and Google's token endpoint.
    public struct FCM: Sendable {
        /// 0 for a port that the system picks.
        public var port = 0
        /// Whose assertions are good; each may send for its own project. The first is the operator's, whose file is written.
        public var accounts: [FCMServiceAccount]
        /// Declared from the start and again after a reset; of two with the same token, the last counts.
        public var devices: [FCMDevice] = []
        /// Whether a plausible token that was not declared is a registered device.
        public var acceptsUndeclaredDevices = true
        /// How long access tokens are good, in seconds.
        public var tokenLifetime = 3_600
        /// SETTINGS_MAX_CONCURRENT_STREAMS.
        public var streams = 100

        /// On a port that the system picks. The lab does not start without an account; the default one's key is made
        /// once for the whole process.
        public init(accounts: [FCMServiceAccount] = [.ofThisProcess]) {
            self.accounts = accounts
        }
    }
}
