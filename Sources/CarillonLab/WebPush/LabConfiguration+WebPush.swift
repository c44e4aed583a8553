extension LabConfiguration {
    /// How the lab plays a browser's push service.
    public struct WebPush: Sendable {
        /// 0 for a port that the system picks.
        public var port = 0
        /// The operator's key.
        public var vapid = VAPIDCredentials()
        public var subscriptions: [WebPushSubscription] = []

        public init() {}
    }
}
