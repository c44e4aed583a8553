import NIOSSL
import RouterConfiguration

/// The servers, and who the client is.
struct NATSSettings: Sendable {
    var servers: [NATSServer]
    /// How the servers list the client.
    var name: String
    var credentials = NATSCredentials.none
    /// Nil: the system's roots, and no client certificate.
    var tls: TLSConfiguration?
    /// Whether servers are used that only other servers have named.
    var followsDiscoveredServers = true
    /// A server that is older is refused.
    var oldestVersion: (major: Int, minor: Int)?
}
