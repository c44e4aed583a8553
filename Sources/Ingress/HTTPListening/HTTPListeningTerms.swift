/// Where a server for HTTP listens, and what one client may cost it.
package struct HTTPListeningTerms: Sendable {
    /// The address to listen on.
    package let host: String
    /// The port to listen on; 0 lets the system choose.
    package let port: Int
    /// Connections at the same time; a further one is closed at once.
    package let connections: Int
    /// Connections from one address at the same time. Trusted proxies and this machine have no such limit.
    package let connectionsPerAddress: Int
    /// The longest request line and header, in bytes.
    package let headerBytes: Int
    /// How long a connection may be idle, take for a header, or leave an answer unread, in seconds.
    package let idleSeconds: Int64
    /// Whether an address is that of a proxy, which stands for many.
    package var isTrustedProxy: @Sendable (String) -> Bool = { _ in false }
    /// What the log says, once in a while, when a connection is one too many.
    package let refusalLine: String

    package init(
        host: String,
        port: Int,
        connections: Int,
        connectionsPerAddress: Int,
        headerBytes: Int,
        idleSeconds: Int64,
        refusalLine: String
    ) {
        self.host = host
        self.port = port
        self.connections = connections
        self.connectionsPerAddress = connectionsPerAddress
        self.headerBytes = headerBytes
        self.idleSeconds = idleSeconds
        self.refusalLine = refusalLine
    }
}
