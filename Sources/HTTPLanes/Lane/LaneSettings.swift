/// Limits and times of the connections to one origin. Times in milliseconds.
package struct LaneSettings: Sendable {
    /// Connections to one origin at most.
    package var connectionsPerOrigin = 4
    /// Requests that may wait for a stream, for each origin; beyond it they fail as overloaded.
    package var waitingPerOrigin = 20_000
    /// Streams open on one connection at most, even if the peer allows more.
    package var streamsPerConnection = 1_000
    /// How often a request that a server handed back unprocessed is sent again.
    package var resends = 3
    /// From the first packet to the end of the TLS handshake.
    package var connectTimeout: Int64 = 10_000
    /// After a failed connection, the time to the next: this, doubling.
    package var backoffStart: Int64 = 1_000
    package var backoffLimit: Int64 = 60_000
    /// A connection silent for so long is asked with a PING whether it lives, along with the next request.
    package var doubtAfterSilence: Int64 = 60_000
    /// A connection silent for so long is sent a PING though there is nothing to do.
    package var pingAfterSilence: Int64 = 3_600_000
    /// How long the answer to a PING may take.
    package var pingTimeout: Int64 = 5_000
    /// A connection without requests for so long is closed.
    package var idleTimeout: Int64 = 6 * 3_600_000
    /// How long an origin that turned out to speak no HTTP/2 is left to libcurl before it is tried again.
    package var withoutHTTP2: Int64 = 600_000

    package init() {}
}
