/// Limits of one connection to a relay. Times are in milliseconds.
package struct ConnectionLimits: Sendable {
    /// Connections that are being opened at the same time, over all relays.
    package var opening = 50
    /// From the first packet to the end of the WebSocket handshake.
    package var handshake: Int64 = 10_000
    /// How long a relay may be silent before it is pinged; one that is silent three times as long is given up.
    package var silence: Int64 = 30_000
    /// How long to wait for the information document (NIP-11) before subscribing without it.
    package var information: Int64 = 3_000
    /// How long an information document stays valid.
    package var informationAge: Int64 = 3_600_000
    /// The longest message of a relay, in bytes; a longer one ends the connection (status 1009).
    package var messageBytes = 1_048_576
    /// Events of one connection that may be unsettled; further ones stay unread in the socket.
    package var eventsInWork = 1_024
    /// The same in bytes.
    package var bytesInWork = 4_194_304
    /// Bytes of ours that a relay may leave unread. With more, the connection is closed.
    package var unreadBytes = 16_777_216
    /// The largest batch of events that is handed over.
    package var batch = 256
    /// How long a connection that nobody needs any more stays open.
    package var idle: Int64 = 60_000
    /// How long a relay may take for its part of the closing handshake.
    package var leaving: Int64 = 1_000
    /// How long a shutdown waits for events that were handed over to be settled.
    package var settling: Int64 = 1_000
    /// How long a published event may wait for a connection and an answer.
    package var publishing: Int64 = 30_000

    package init() {}
}

/// Why there is no connection to a relay, or none any longer. One word of a small fixed set, for logs and a metric's
/// label.
package enum ConnectionFailure: String, Error, Sendable, CaseIterable {
    /// The address guard refused the address behind the URL.
    case forbiddenAddress = "forbidden-address"
    case unresolved
    case unreachable
    /// The certificate is invalid, or there is no common version of TLS.
    case tls
    /// The handshake did not finish in time.
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
    /// The relay closed the connection because a message of ours was too long for it (status 1009).
    case messageRefused = "message-refused"
    /// The relay does not read what is sent to it.
    case unread
}
