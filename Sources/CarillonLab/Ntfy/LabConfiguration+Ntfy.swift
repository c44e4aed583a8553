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
        /// Declared from the start and again after a reset; any other topic takes messages.
        public var topics: [NtfyTopic] = []
        /// What becomes of a UnifiedPush message above 4096 bytes.
        public var oversize = UnifiedPush.Oversize.cut

        /// Without TLS on a port that the system picks; anybody may publish, and ``accessToken`` is good for all
        /// topics.
        public init() {}
    }

    /// How the lab plays a Gotify server.
    public struct Gotify: Sendable {
        /// 0 for a port that the system picks.
        public var port = 0
        /// HTTPS with the same certificate as APNs.
        public var usesTLS = false
        /// Those that may send from the start and again after a reset, numbered from 1 in this order; the first one's
        /// token stands in `lab.json`.
        public var applications = [GotifyApplication()]

        /// Without TLS on a port that the system picks, with one application whose token is the same in every lab.
        public init() {}
    }
}
