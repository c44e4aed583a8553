import Core

/// Where a stream leads, and for how long.
package struct StreamTarget: Sendable, Equatable {
    /// A name or an address; IPv6 without brackets.
    package var host: String
    package var port: UInt16
    /// TLS from the first byte.
    package var usesTLS = false
    /// A user chose the host: no private addresses.
    package var isUntrusted = false
    /// Until the stream is open.
    package var connectTimeout: Duration = .seconds(30)
    /// Without a byte in either direction.
    package var idleTimeout: Duration = .minutes(5)
    /// PEM: whom to trust instead of the system's authorities; empty: those.
    package var authorities: [UInt8] = []
}

/// Why a stream ended in another way than that one of its ends closed it: one word, fit for a metric's label.
package enum StreamFailure: String, Sendable, CaseIterable {
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
    /// No byte went in either direction for too long.
    case idle
    /// The connection broke.
    case reset
    /// The instance that it belongs to is shut down.
    case shutDown = "shut-down"
    /// The host does not open such a stream.
    case refused
}

/// Receives what happens on a stream: in order, one call at a time, and never from inside a call of the stream's.
package protocol StreamReceiver: AnyObject, Sendable {
    /// It is connected; again when the TLS begun by ``StreamConnection/startTLS()`` stands.
    func opened()
    /// At most 64 KiB, valid until the call returns.
    func received(_ bytes: UnsafeRawBufferPointer)
    /// So many bytes have left in all.
    func sent(_ total: UInt64)
    /// The last event; nil: one of the two sides closed it. The receiver calls `done` once, when it needs the stream no
    /// more.
    func closed(_ failure: StreamFailure?, done: @escaping @Sendable () -> Void)
}

/// One stream. All functions may be called from any thread, and none of them waits.
package protocol StreamConnection: AnyObject, Sendable {
    /// Begins to connect; nothing happens before. To be called once.
    func start()
    /// Sends `bytes` in the order of the calls, once it is open. The caller keeps the limit.
    func write(_ bytes: [UInt8])
    /// Begins TLS on a plain stream once what was written is sent. What arrives in the clear after this call ends the
    /// stream.
    func startTLS()
    /// Sends what waits, for at most 5 s, and closes.
    func close()
    /// Ends it at once.
    func end(_ failure: StreamFailure)
    /// Whether more may be read. What has been read is still received.
    func setReading(_ isReading: Bool)
}

/// Makes streams: over the network, or none in a dry run.
package protocol StreamConnector: Sendable {
    /// A stream that does nothing before its start.
    func stream(to target: StreamTarget, _ receiver: any StreamReceiver) -> any StreamConnection
}
