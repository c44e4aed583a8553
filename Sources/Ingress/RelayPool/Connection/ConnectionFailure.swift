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
