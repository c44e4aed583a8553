import Core

/// The target of a stream, and its timeouts.
package struct StreamTarget: Sendable, Equatable {
    /// A name or an address; IPv6 without brackets.
    package var host: String
    package var port: UInt16
    /// TLS from the first byte.
    package var usesTLS = false
    /// A user chose the host: no private addresses.
    package var isUntrusted = false
    /// The timeout until the stream is open.
    package var connectTimeout: Duration = .seconds(30)
    /// The timeout without a byte in either direction.
    package var idleTimeout: Duration = .minutes(5)
    /// The CA certificates to trust, as PEM. Default (empty): the system's.
    package var authorities: [UInt8] = []
}

/// Why a stream ended other than by a close of one of its ends: one word, suitable as a metric's label.
package enum StreamError: String, Sendable, CaseIterable {
    /// The address guard refused the address.
    case forbiddenAddress = "forbidden-address"
    case unresolved
    case unreachable
    case tls
    case tlsName = "tls-name"
    case tlsUntrusted = "tls-untrusted"
    case tlsExpired = "tls-expired"
    case timeout
    /// The other side closed it before it was open.
    case closed
    /// No byte in either direction for too long.
    case idle
    /// The connection broke.
    case reset
    /// Its instance is shut down.
    case shutDown = "shut-down"
    /// The host does not open such a stream.
    case refused
}

/// Receives the events of a stream: in order, one call at a time, and never from inside a call to the stream.
package protocol StreamReceiver: AnyObject, Sendable {
    /// It is connected; called again when TLS from ``StreamConnection/startTLS()`` is active.
    func opened()
    /// Up to 64 KiB, valid until the call returns.
    func received(_ bytes: UnsafeRawBufferPointer)
    /// `total` is the number of all bytes sent up to now.
    func sent(_ total: UInt64)
    /// The last event; nil: one of the two sides closed it. The receiver calls `done` once, when it no longer needs the
    /// stream.
    func closed(_ failure: StreamError?, done: @escaping @Sendable () -> Void)
}

/// One stream. All functions may be called from any thread, and none of them blocks.
package protocol StreamConnection: AnyObject, Sendable {
    /// Starts to connect. Call this once; there are no events before.
    func start()
    /// Sends `bytes` in the order of the calls, once it is open. The caller keeps the limit.
    func write(_ bytes: [UInt8])
    /// Starts TLS on a plain stream once the written bytes are sent. Unencrypted bytes that arrive after this call end
    /// the stream.
    func startTLS()
    /// Sends queued bytes for up to 5 s, and closes.
    func close()
    /// Ends it immediately.
    func end(_ failure: StreamError)
    /// Whether to continue reading. Bytes already read are still delivered.
    func setReading(_ isReading: Bool)
}

/// Makes streams: over the network, or none in a dry run.
package protocol StreamConnector: Sendable {
    /// A stream that is idle until its start.
    func stream(to target: StreamTarget, _ receiver: any StreamReceiver) -> any StreamConnection
}
