extension HTTPLanes {
    /// How outgoing HTTP behaves.
    package struct Configuration: Sendable {
        /// A PEM file with roots to trust besides the system's. Default: none.
        package var caFile: String?
        /// Blocks in CIDR notation that users' URLs may lead to although they are not public, such as `10.1.2.0/24`.
        /// Default: none.
        package var allowPrivate: [String]
        /// A proxy's URL; see ``Proxy``. All requests then go through it: lanes by CONNECT where its scheme is http, libcurl
        /// otherwise. Where users' names lead is then for the proxy to judge, as only it resolves them. Default: none; the
        /// environment is ignored.
        package var proxy: String?
        /// Of the connections to busy origins.
        package var lanes: LaneSettings
        /// Busy origins at most, those of users' URLs three quarters of it; requests to further ones go by libcurl. Default:
        /// 256.
        package var multiplexedOrigins: Int
        /// Requests with libcurl at most, waiting or under way; beyond it they fail as overloaded. No share may have more than
        /// is free. Default: 10,000.
        package var otherRequests: Int
        /// libcurl's connections and transfers under way at most, altogether; no share may have more than is free. Default:
        /// 512.
        package var otherConnections: Int
        /// libcurl's connections to one host at most. Each queue of the courier has half as many attempts under way there.
        /// Default: 32.
        package var otherConnectionsPerHost: Int

        package init(
            caFile: String? = nil,
            allowPrivate: [String] = [],
            proxy: String? = nil,
            lanes: LaneSettings = LaneSettings(),
            multiplexedOrigins: Int = 256,
            otherRequests: Int = 10_000,
            otherConnections: Int = 512,
            otherConnectionsPerHost: Int = 32
        ) {
            self.caFile = caFile
            self.allowPrivate = allowPrivate
            self.proxy = proxy
            self.lanes = lanes
            self.multiplexedOrigins = multiplexedOrigins
            self.otherRequests = otherRequests
            self.otherConnections = otherConnections
            self.otherConnectionsPerHost = otherConnectionsPerHost
        }
    }
}
