import NIOSSL
import RouterConfiguration

/// The settings of a client: the servers, and its name, credentials and TLS.
struct NATSSettings: Sendable {
    var servers: [NATSServer]
    /// The client's name in the servers' lists.
    var name: String
    var credentials = NATSCredentials.none
    /// Nil: the system's roots, and no client certificate.
    var tls: TLSConfiguration?
    /// Whether to use servers that other servers name.
    var followsDiscoveredServers = true
    /// The minimum version of a server.
    var oldestVersion: (major: Int, minor: Int)?
}
