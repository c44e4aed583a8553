import Core
import HTTPClient

/// Limits of one connection to a relay.
package struct ConnectionLimits: Sendable {
    /// Connections that are being opened at the same time, over all relays.
    package var opening = 50
    /// From the first packet to the end of the WebSocket handshake.
    package var handshake: Duration = .seconds(10)
    /// How long a relay may be silent before it is pinged; one that is silent three times as long is given up.
    package var silence: Duration = .seconds(30)
    /// How long to wait for the information document (NIP-11) before subscribing without it.
    package var information: Duration = .seconds(3)
    /// How long an information document stays valid.
    package var informationAge: Duration = .hours(1)
    /// The longest message of a relay; a longer one is read past.
    package var messageBytes: ByteCount = .mebibytes(1)
    /// The longest message that is read past; a longer one ends the connection (status 1009).
    package var bytesPassed: ByteCount = .mebibytes(64)
    /// Events of one connection that may be unsettled; further ones stay unread in the socket.
    package var eventsInWork = 1_024
    /// The same in bytes.
    package var bytesInWork: ByteCount = .mebibytes(4)
    /// Bytes of ours that a relay may leave unread. With more, the connection is closed.
    package var unreadBytes: ByteCount = .mebibytes(16)
    /// The largest batch of events that is handed over.
    package var batch = 256
    /// How long a connection that nobody needs any more stays open.
    package var idle: Duration = .minutes(1)
    /// How long a relay may take for its part of the closing handshake.
    package var leaving: Duration = .seconds(1)
    /// How long a shutdown waits for events that were handed over to be settled.
    package var settling: Duration = .seconds(1)
    /// How long a published event may wait for a connection and an answer.
    package var publishing: Duration = .seconds(30)

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
    /// The relay sent a message too long even to read past.
    case tooLarge = "too-large"
    /// The relay closed the connection because a message of ours was too long for it (status 1009).
    case messageRefused = "message-refused"
    /// The relay does not read what is sent to it.
    case unread

    /// The cause as a phrase for people, to be shown after the word.
    package var explanation: String {
        switch self {
        case .forbiddenAddress, .unresolved, .unreachable, .tls, .timeout:
            HTTPFailure.Reason(rawValue: rawValue)?.explanation ?? rawValue
        case .notWebSocket: "the server does not speak WebSocket at this URL"
        case .closed: "the relay closed the connection"
        case .silent: "the relay did not respond to pings"
        case .protocolError: "the relay violated the WebSocket protocol"
        case .tooLarge: "the relay sent a message that is too long even to be skipped"
        case .messageRefused: "the relay refused a message of the router as too long"
        case .unread: "the relay does not read the router's messages"
        }
    }
}
