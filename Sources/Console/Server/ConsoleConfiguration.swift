import Units

/// Where the API listens, who may ask, and what one client may do. The defaults suit tools on this machine.
package struct ConsoleConfiguration: Sendable {
    /// The address to listen on.
    package var host = "127.0.0.1"
    /// The port to listen on; 0 lets the system choose.
    package var port = 7448
    /// Whether metrics are shown to those without a token.
    package var openMetrics = false
    package var limits = Limits()
    /// Whether to trust `X-Forwarded-For` from an address.
    package var isTrustedProxy: @Sendable (String) -> Bool = { _ in false }
    /// Where plugins are reached from outside; nil: nowhere.
    package var inbound: InboundConfiguration?

    package init() {}

    /// What one client may do.
    package struct Limits: Sendable, Equatable {
        /// Connections at the same time. A further one replaces the one that was silent for longest, and is closed when
        /// all have a request in work.
        package var connections = 100
        /// The same from one address; this machine has no such limit.
        package var connectionsPerAddress = 20
        /// Requests without the token, or with a wrong one, from one address a second, over time.
        package var strangersPerSecond = 5
        /// The same at once, before the rate counts.
        package var strangersBurst = 50
        /// Requests of one token, or of one key that signs, a second, over time.
        package var perPrincipalPerSecond = 200
        /// The same at once, before the rate counts.
        package var principalBurst = 2_000
        /// Calls in work at the same time; further ones get 503.
        package var callsAtATime = 16
        /// The same of calls that send notifications: they wait for the disk, and cost little meanwhile.
        package var sendsAtATime = 256
        /// The longest body that is read where an endpoint names no other limit; a longer one gets 413.
        package var bodyBytes: ByteCount = .kibibytes(64)
        /// Calls with a longer body in work at the same time; further ones get 503.
        package var longBodiesAtATime = 8
        /// The longest request line and header.
        package var headerBytes: ByteCount = .kibibytes(16)
        /// How long a client may take from the end of its header to the end of its body.
        package var bodyTimeout: Duration = .seconds(15)
        /// How long a connection may be idle, take for a header, or leave an answer unread.
        package var idleTimeout: Duration = .seconds(60)

        package init() {}
    }
}
