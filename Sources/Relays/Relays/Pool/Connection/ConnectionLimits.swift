import Core
import HTTPClient

/// Limits of one connection to a relay.
package struct ConnectionLimits: Sendable {
    /// The maximum number of connections being opened at the same time, over all relays.
    package var opening = 50
    /// The timeout from the first packet to the end of the WebSocket handshake.
    package var handshake: Duration = .seconds(10)
    /// How long a relay may be silent before the router pings it. After three times as long the connection is given up.
    package var silence: Duration = .seconds(30)
    /// The timeout for the information document (NIP-11). After it the router subscribes without the document.
    package var information: Duration = .seconds(3)
    /// How long an information document stays valid.
    package var informationAge: Duration = .hours(1)
    /// The maximum message size. A longer message is skipped.
    package var messageBytes: ByteCount = .mebibytes(1)
    /// The maximum size of a message that is skipped. A longer one ends the connection (status 1009).
    package var bytesPassed: ByteCount = .mebibytes(64)
    /// The maximum number of unsettled events of one connection. More events stay unread in the socket.
    package var eventsInWork = 1_024
    /// The same in bytes.
    package var bytesInWork: ByteCount = .mebibytes(4)
    /// The maximum bytes from the router that a relay may leave unread. With more, the connection is closed.
    package var unreadBytes: ByteCount = .mebibytes(16)
    /// The maximum number of events in a batch for the delegate.
    package var batch = 256
    /// How long a connection that is no longer needed stays open.
    package var idle: Duration = .minutes(1)
    /// The timeout for the relay's part of the closing handshake.
    package var leaving: Duration = .seconds(1)
    /// How long a shutdown waits until the delegate has settled events.
    package var settling: Duration = .seconds(1)
    /// How long a published event may wait for a connection and a response.
    package var publishing: Duration = .seconds(30)

    package init() {}
}

/// The reason why a relay is not connected. One word of a small fixed set, for logs and a metric's label.
package enum ConnectionError: String, Error, Sendable, CaseIterable {
    /// The address guard refused the address behind the URL.
    case forbiddenAddress = "forbidden-address"
    case unresolved
    case unreachable
    /// The certificate is invalid, or there is no common version of TLS.
    case tls
    /// The handshake did not finish in time.
    case timeout
    /// The server does not support WebSocket at this URL.
    case notWebSocket = "not-websocket"
    /// The relay closed the connection.
    case closed
    /// The relay did not respond to pings.
    case silent
    /// The relay violated the WebSocket protocol (RFC 6455).
    case protocolError = "protocol-error"
    /// The relay sent a message that is too long to be skipped.
    case tooLarge = "too-large"
    /// The relay closed the connection because a message from the router was too long (status 1009).
    case messageRefused = "message-refused"
    /// The relay does not read the router's messages.
    case unread

    /// The cause as a phrase for people, shown after the word.
    package var explanation: String {
        switch self {
        case .forbiddenAddress, .unresolved, .unreachable, .tls, .timeout:
            HTTPError.Reason(rawValue: rawValue)?.explanation ?? rawValue
        case .notWebSocket: "the server does not support WebSocket at this URL"
        case .closed: "the relay closed the connection"
        case .silent: "the relay did not respond to pings"
        case .protocolError: "the relay violated the WebSocket protocol"
        case .tooLarge: "the relay sent a message that is too long to skip"
        case .messageRefused: "the relay refused a message from the router as too long"
        case .unread: "the relay does not read the router's messages"
        }
    }
}
