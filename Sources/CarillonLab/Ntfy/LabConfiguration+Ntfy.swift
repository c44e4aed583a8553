extension LabConfiguration {
    /// How the lab plays an ntfy server.
    public struct Ntfy: Sendable {
        /// A token as ntfy makes them: `tk_` and 29 characters.
        public static let accessToken = "tk_carillonlabcarillonlabcarillo"

        /// 0 for a port that the system picks.
        public var port = 0
        /// HTTPS with the same certificate as APNs.
        public var usesTLS = false
        /// Whether topics take messages without authorization; those of UnifiedPush always do.
        public var allowsAnonymous = true
        /// Access tokens that are good, with the topics each may publish to; nil: all. Any other gets 401.
        public var accessTokens: [String: Set<String>?] = [Self.accessToken: nil]
        public var topics: [NtfyTopic] = []
        /// What becomes of a UnifiedPush message above 4096 bytes.
        public var oversize = UnifiedPush.Oversize.cut

        public init() {}
    }

    /// How the lab plays a Gotify server.
    public struct Gotify: Sendable {
        /// 0 for a port that the system picks.
        public var port = 0
        /// HTTPS with the same certificate as APNs.
        public var usesTLS = false
        public var applications = [GotifyApplication()]

        public init() {}
    }
}
