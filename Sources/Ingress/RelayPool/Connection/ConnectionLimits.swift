/// What one connection to a relay may take. Times are in milliseconds.
package struct ConnectionLimits: Sendable {
    /// Connections that are being opened at the same time, over all relays.
    package var opening = 50
    /// From the first packet to the end of the WebSocket handshake.
    package var handshake: Int64 = 10_000
    /// How long a relay may be silent before it is pinged; one that is silent three times as long is given up.
    package var silence: Int64 = 30_000
    /// How long the information document (NIP-11) is waited for before subscribing without it.
    package var information: Int64 = 3_000
    /// For how long an information document is believed.
    package var informationAge: Int64 = 3_600_000
    /// The longest message of a relay, in bytes; a longer one ends the connection (status 1009).
    package var messageBytes = 1_048_576
    /// Events of one connection that may be in work; more are left unread in the socket.
    package var eventsInWork = 1_024
    /// The same in bytes.
    package var bytesInWork = 4_194_304
    /// Bytes of ours that a relay may leave unread; with more its connection is given up.
    package var unreadBytes = 16_777_216
    /// Events that are handed over at once at most.
    package var batch = 256
    /// How long a connection that nobody needs any more stays open.
    package var idle: Int64 = 60_000
    /// How long a relay may take for its part of the closing handshake.
    package var leaving: Int64 = 1_000
    /// How long events that were handed over may take to be settled when the pool shuts down.
    package var settling: Int64 = 1_000
    /// How long a published event may wait for a connection and an answer.
    package var publishing: Int64 = 30_000

    package init() {}
}

/// Why there is no connection to a relay (any more). One word of a small fixed set, fit for logs and a metric's label.
package enum ConnectionFailure: String, Error, Sendable, CaseIterable {
    /// The address guard refused where the URL leads.
    case forbiddenAddress = "forbidden-address"
    case unresolved
    case unreachable
    /// The certificate does not hold, or no common TLS.
    case tls
    /// No end of the handshake in time.
    case timeout
    /// The server does not speak WebSocket there.
    case notWebSocket = "not-websocket"
    /// The relay closed the connection.
    case closed
    /// The relay did not answer pings.
    case silent
    /// The relay broke the rules of WebSocket (RFC 6455).
    case protocolError = "protocol-error"
    /// The relay sent a message over the limit.
    case tooLarge = "too-large"
    /// The relay closed since a message of ours was too long for it (status 1009).
    case messageRefused = "message-refused"
    /// The relay does not read what is sent to it.
    case unread
}
