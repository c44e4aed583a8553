import Core

extension HTTPLanes {
    /// How outgoing HTTP behaves.
    package struct Configuration: Sendable {
        /// A PEM file with roots to trust besides the system's. Default: none.
        package var caFile: String?
        /// Blocks in CIDR notation that users' URLs may lead to although they are not public, such as `10.1.2.0/24`.
        /// Default: none.
        package var allowPrivate: [String]
        /// A proxy's URL; see ``Proxy``. All requests then go through it: HTTP/2 connections by CONNECT if its scheme
        /// is http, libcurl otherwise. The proxy then judges where users' names lead, as only it resolves them.
        /// Default: none; the environment is ignored.
        package var proxy: String?
        /// Settings of the connections to busy origins.
        package var lanes: ConnectionSettings
        /// The most busy origins. Users' URLs may use three quarters of them; requests to further ones go by libcurl.
        /// Default: 1,536.
        package var multiplexedOrigins = 1_536
        /// Limits of the requests to all other origins.
        package var curl: CurlLimits
        /// Holds requests back that are not to be sent any more. Default: none.
        package var gate: RequestGate?

        package init(
            caFile: String? = nil,
            allowPrivate: [String] = [],
            proxy: String? = nil,
            lanes: ConnectionSettings = ConnectionSettings(),
            curl: CurlLimits = CurlLimits()
        ) {
            self.caFile = caFile
            self.allowPrivate = allowPrivate
            self.proxy = proxy
            self.lanes = lanes
            self.curl = curl
        }
    }
}

/// Limits of the requests that libcurl carries.
package struct CurlLimits: Sendable {
    /// The most requests, waiting or in flight; no account may have more than is free. Requests beyond it fail as
    /// overloaded, or make one fail that waits for a host with others in flight. Default: 10,000.
    package var requests: Int
    /// The most connections and transfers altogether, except slow ones; no account may have more than is free. A host
    /// whose connection has to make room for another one's costs a handshake next time. Default: 512.
    package var connections: Int
    /// The most transfers that have taken longer than a quarter of a second while others wait: they leave their places
    /// to those. When there are more and a host waits that has none, one fails as evicted: of the host that has most,
    /// or after 750 ms at the earliest a host's only one. Default: 1,536.
    package var slowTransfers: Int
    /// The most connections to one host. Each queue of the courier has half as many attempts in flight there. Default:
    /// 32.
    package var connectionsPerHost: Int

    package init(
        requests: Int = 10_000,
        connections: Int = 512,
        slowTransfers: Int = 1_536,
        connectionsPerHost: Int = 32
    ) {
        self.requests = requests
        self.connections = connections
        self.slowTransfers = slowTransfers
        self.connectionsPerHost = connectionsPerHost
    }
}

/// Limits and times of the connections to one origin.
package struct ConnectionSettings: Sendable {
    /// The most connections to one origin.
    package var connectionsPerOrigin = 4
    /// The most requests that may wait for a stream, for each origin; further ones fail as overloaded.
    package var waitingPerOrigin = 20_000
    /// The most streams on one connection, even if the peer allows more.
    package var streamsPerConnection = 1_000
    /// How often a request that a server handed back unprocessed is sent again.
    package var resends = 3
    /// From the first packet to the end of the TLS handshake.
    package var connectTimeout: Duration = .seconds(10)
    /// The wait after a failed connection; it doubles with each failure.
    package var backoffStart: Duration = .seconds(1)
    package var backoffLimit: Duration = .minutes(1)
    /// A connection silent for so long gets a PING along with the next request, to find out whether it is alive.
    package var doubtAfterSilence: Duration = .minutes(1)
    /// A connection silent for so long gets a PING even when there is nothing to do.
    package var pingAfterSilence: Duration = .hours(1)
    /// How long the answer to a PING may take.
    package var pingTimeout: Duration = .seconds(5)
    /// A connection without requests for so long is closed.
    package var idleTimeout: Duration = .hours(6)
    /// How long an origin that speaks no HTTP/2 is left to libcurl before it is tried again.
    package var withoutHTTP2: Duration = .minutes(10)

    package init() {}
}
