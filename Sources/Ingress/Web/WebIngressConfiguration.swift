/// Where the ingress listens, what it makes of push messages, and what one client may do. The defaults suit a public address
/// behind a web server with TLS.
package struct WebIngressConfiguration: Sendable {
    /// The address to listen on.
    package var host = "127.0.0.1"
    /// The port to listen on; 0 lets the system choose.
    package var port = 7449
    /// What the device shows when the app cannot decrypt: a key of its `Localizable.strings` (seed 001).
    package var locKey = "apns-default-message"
    /// Whether what `X-Forwarded-For` says is believed when it comes from this address.
    package var isTrustedProxy: @Sendable (String) -> Bool = { _ in false }
    package var limits = Limits()

    package init() {}

    /// What one client may do. Whoever is over a limit is told to come later, and costs nobody else anything; whoever goes on all
    /// the same loses the connection.
    package struct Limits: Sendable, Equatable {
        /// Connections at the same time; a further one is closed at once.
        package var connections = 1_000
        /// Connections from one address at the same time. Trusted proxies and this machine have no such limit.
        package var connectionsPerAddress = 100
        /// Messages for one device a minute, over time.
        package var perDevicePerMinute = 60
        /// Messages for one device at once, before the rate counts.
        package var deviceBurst = 120
        /// Requests from one address a second, over time. This machine has no such limit: a proxy may be behind it.
        package var perClientPerSecond = 100
        /// Requests from one address at once, before the rate counts.
        package var clientBurst = 1_000
        /// Bytes of bodies from one address a second, over time, and eight times as many at once; whoever brings more loses the
        /// connection. This machine has no such limit.
        package var bytesPerClientPerSecond = 1_048_576
        /// Messages that wait for the disk at the same time; whoever brings more is told to come later.
        package var waiting = 1_000
        /// The longest body that is read to its end, in bytes; a longer one ends the connection. Web Push bodies have 4,096.
        package var bodyBytes = 1_048_576
        /// The longest request line and header, in bytes.
        package var headerBytes = 16_384
        /// How long a client may take from the end of its header to the end of its body, in seconds.
        package var bodySeconds: Int64 = 15
        /// How long a connection may be idle, or take for a header, in seconds.
        package var idleSeconds: Int64 = 60

        package init() {}
    }
}
