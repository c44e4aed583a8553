extension LabConfiguration {
    /// How the lab plays FCM and Google's token endpoint.
    public struct FCM: Sendable {
        /// 0 for a port that the system picks.
        public var port = 0
        /// Whose assertions are good; each may send for its own project. The first is the operator's, whose file is written.
        public var accounts: [FCMServiceAccount]
        public var devices: [FCMDevice] = []
        /// Whether a plausible token that was not declared is a registered device.
        public var acceptsUndeclaredDevices = true
        /// How long access tokens are good, in seconds.
        public var tokenLifetime = 3_600
        /// SETTINGS_MAX_CONCURRENT_STREAMS.
        public var streams = 100

        public init(accounts: [FCMServiceAccount] = [.ofThisProcess]) {
            self.accounts = accounts
        }
    }
}
