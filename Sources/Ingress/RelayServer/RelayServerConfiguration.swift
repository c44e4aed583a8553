import Units

/// Where our own relay socket listens and what one client may ask of it. The defaults suit a public address.
package struct RelayServerConfiguration: Sendable {
    /// The address to listen on.
    package var host: String = "127.0.0.1"
    /// The port to listen on; 0 lets the system choose.
    package var port: Int = 7447
    /// The URL under which clients know us, as in `wss://notify.example.com`: what NIP-42 proofs must name. Where it is
    /// empty they must name the address at which the client reached us.
    package var url: String = ""
    /// Whether what `X-Forwarded-For` says is believed when it comes from this address.
    package var isTrustedProxy: @Sendable (String) -> Bool = { _ in false }
    /// Whether nothing is taken from this address.
    package var isBlocked: @Sendable (String) -> Bool = { _ in false }
    package var limits = Limits()

    /// What one client may do. Each limit answers in the standard way and ends no other client's connection.
    package struct Limits: Sendable, Equatable {
        /// The longest message; a longer one closes the connection (status 1009).
        package var messageBytes: ByteCount = .kibibytes(128)
        /// Open subscriptions of one connection.
        package var subscriptions = 20
        /// Filters in one REQ.
        package var filters = 10
        /// Values in all filters of one connection that events to come can still match: ids, keys, kinds and tag
        /// values.
        package var liveValues = 2_000
        /// Messages one connection may send a second, over time. Parts of messages, pings and pongs count as messages
        /// do.
        package var messagesPerSecond: Double = 100
        /// Messages it may send at once, before the rate counts.
        package var burst: Double = 500
        /// Registrations one client may send a second, over time, however many connections it has: each is a write to
        /// disk.
        package var registrationsPerSecond: Double = 1
        /// Registrations it may send at once, before their rate counts.
        package var registrationBurst: Double = 100
        /// Events of one connection that are being worked on; more are left unread in the socket.
        package var eventsInWork = 512
        /// The bytes of such events.
        package var bytesInWork: ByteCount = .kibibytes(256)
        /// Queries of one connection that are answered at the same time; more wait.
        package var queriesInWork = 2
        /// Answers that one connection may leave unread; with more it is closed.
        package var unreadBytes: ByteCount = .mebibytes(4)
        /// Connections at the same time. A further one takes the place of an idle one whose client has proven nothing,
        /// or is closed at once.
        package var connections = 1_000
        /// Connections of one client at the same time. A client is an IPv4 address or an IPv6 network of 64 bits, and
        /// networks of 48 and 32 bits have this and the limits below as well, with larger allowances
        /// (`ClientAddress.Network`); behind a trusted proxy it is the client that the proxy names. Loopback, and a
        /// proxy that names nobody, have none of the limits for clients: everybody may be behind them.
        package var connectionsPerClient = 100
        /// Connections that one client may open a minute, over time, and as many at once.
        package var openingsPerClientPerMinute = 120
        /// Messages of one client a second, over time, however many connections it has.
        package var messagesPerClientPerSecond = 200
        /// Messages it may send at once, before the rate counts.
        package var clientBurst = 2_000
        /// Bytes of messages of one client a second, over time. At once it may send eight times as many.
        package var bytesPerClientPerSecond = 2_097_152
        /// How long a client may take to ask for anything, and to take its leave.
        package var handshakeTimeout: Duration = .seconds(10)
        /// How long a client may take for one message from its first byte on.
        package var messageTimeout: Duration = .seconds(60)
        /// How long a connection may be silent before it is pinged; after twice that it is closed.
        package var idleTimeout: Duration = .seconds(60)

        package init() {}
    }

    package init() {}
}
