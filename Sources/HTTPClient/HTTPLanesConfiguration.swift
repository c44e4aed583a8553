import Core

extension HTTPLanes {
    /// The settings of outgoing HTTP.
    package struct Configuration: Sendable {
        /// A PEM file with more trusted roots than the system's. Default: none.
        package var caFile: String?
        /// CIDR blocks that users' URLs may reach although they are not public, such as `10.1.2.0/24`. Default: none.
        package var allowPrivate: [String]
        /// A proxy's URL; see ``Proxy``. All requests use it: HTTP/2 connections with CONNECT if its scheme is http,
        /// libcurl otherwise. Only the proxy resolves names, so it must check users' addresses. Default: none; the
        /// environment is ignored.
        package var proxy: String?
        /// Settings of our HTTP/2 connections.
        package var lanes: ConnectionSettings
        /// The maximum of busy origins. Users' URLs may take three quarters; requests to more use libcurl. Default:
        /// 1,536.
        package var multiplexedOrigins = 1_536
        /// Limits of the requests that libcurl carries.
        package var curl: CurlLimits
        /// Stops requests that must no longer be sent. Default: none.
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
    /// The maximum of requests, waiting or in flight; no account may have more than is free. Above it a request fails
    /// as overloaded, or instead one that waits for a host with others in flight. Default: 10,000.
    package var requests: Int
    /// The maximum of connections and transfers in total, except slow ones; no account may have more than is free. A
    /// host whose connection is closed for another host needs a new handshake next time. Default: 512.
    package var connections: Int
    /// The maximum of slow transfers: those that took longer than a quarter of a second while others wait, and gave up
    /// their slots. If there are more and a host without a transfer waits, one fails as evicted: of the host that has
    /// most, or after at least 750 ms a host's only one. Default: 1,536.
    package var slowTransfers: Int
    /// The maximum of connections to one host. Each queue of the courier has half as many attempts in flight there.
    /// Default: 32.
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

/// Limits and timeouts of the connections to one origin.
package struct ConnectionSettings: Sendable {
    /// The maximum of connections to one origin.
    package var connectionsPerOrigin = 4
    /// The maximum of requests that wait for a stream, for each origin; more fail as overloaded.
    package var waitingPerOrigin = 20_000
    /// The maximum of streams on one connection, even if the peer allows more.
    package var streamsPerConnection = 1_000
    /// How often a request that a server refused unprocessed is resent.
    package var resends = 3
    /// Timeout from the first packet to the end of the TLS handshake.
    package var connectTimeout: Duration = .seconds(10)
    /// The delay after a failed connection; it doubles with each failure.
    package var backoffStart: Duration = .seconds(1)
    package var backoffLimit: Duration = .minutes(1)
    /// After this silence the next request is sent with a PING, to check whether the connection is alive.
    package var doubtAfterSilence: Duration = .minutes(1)
    /// After this silence a connection gets a PING.
    package var pingAfterSilence: Duration = .hours(1)
    /// Timeout for the response to a PING.
    package var pingTimeout: Duration = .seconds(5)
    /// A connection without requests is closed after this time.
    package var idleTimeout: Duration = .hours(6)
    /// How long libcurl serves an origin without HTTP/2 before the next try.
    package var withoutHTTP2: Duration = .minutes(10)

    package init() {}
}
