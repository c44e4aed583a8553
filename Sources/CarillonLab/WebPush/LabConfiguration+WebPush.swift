extension LabConfiguration {
    /// How the lab plays a browser's push service.
    public struct WebPush: Sendable {
        /// 0 for a port that the system picks.
        public var port = 0
        /// The operator's key.
        public var vapid = VAPIDCredentials()
        /// Those there are from the start and again after a reset. The lab does not start with an id or keys that are
        /// none.
        public var subscriptions: [WebPushSubscription] = []

        /// On a port that the system picks, with a new key and without subscriptions.
        public init() {}
    }
}
