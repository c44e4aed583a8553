extension LabConfiguration {
    /// How the lab plays APNs.
    public struct APNs: Sendable {
        /// 0 for a port that the system picks.
        public var port = 0
        /// Of the sandbox, 0 for one that the system picks; nil to leave it out.
        public var sandboxPort: Int? = 0
        /// Of the management of production's broadcast channels, 0 for one that the system picks.
        public var channelsPort = 0
        /// Whether the apps have Apple's capability for broadcasts.
        public var allowsBroadcasts = true
        /// Whose provider tokens are good. Each may send for its own topic and for `topics`.
        public var credentials = [LabCredentials()]
        /// Further bundle ids.
        public var topics: Set<String> = []
        /// Declared from the start and again after a reset; of two with the same token and environment, the last
        /// counts.
        public var devices: [APNsDevice] = []
        /// Whether a well-formed token that was not declared is a registered device.
        public var acceptsUndeclaredDevices = true
        /// SETTINGS_MAX_CONCURRENT_STREAMS before the first request with a good provider token.
        public var streamsBeforeAuthorization = 1
        /// SETTINGS_MAX_CONCURRENT_STREAMS after it.
        public var streams = 1_000

        /// Production and the sandbox on ports that the system picks, for one provider with a new key.
        public init() {}
    }

    /// How the lab plays a UnifiedPush push server.
    public struct UnifiedPush: Sendable {
        /// 0 for a port that the system picks.
        public var port = 0
        /// HTTPS with the same certificate as APNs.
        public var usesTLS = false
        /// Receivers whose messages the lab decrypts.
        public var receivers: [WebPushReceiver] = []
        /// What becomes of a message above 4096 bytes.
        public var oversize = Oversize.refused

        /// Without TLS on a port that the system picks; knows no receivers, and refuses what is too long.
        public init() {}

        /// How a server takes a UnifiedPush message above 4096 bytes; ntfy's other messages get 413 either way.
        public enum Oversize: Sendable, Hashable {
            /// 413, as UnifiedPush's server specification says.
            case refused
            /// Cut at 4096 bytes and accepted without a word, as ntfy does.
            case cut
        }
    }
}
