import Foundation
import NIOSSL

/// The servers, and who the client is.
package struct NATSSettings: Sendable {
    package var servers: [NATSServer]
    /// How the servers list the client.
    package var name: String
    package var credentials = NATSCredentials.none
    /// Nil: the roots of the system, and no certificate of its own.
    package var tls: TLSConfiguration?
    /// Whether servers are used that only other servers have named.
    package var followsDiscoveredServers = true
    /// A server that is older is refused.
    package var oldestVersion: (major: Int, minor: Int)?

    package init(servers: [NATSServer], name: String) {
        self.servers = servers
        self.name = name
    }
}

/// The address of a server: `nats://HOST[:4222]`, `tls://` to insist on TLS, or no scheme at all.
package struct NATSServer: Hashable, Sendable, CustomStringConvertible {
    package let host: String
    package let port: Int
    /// Without TLS nothing is sent to it.
    package private(set) var wantsTLS: Bool
    /// TLS begins before the server greets (`handshake_first`).
    package var securesFirst = false

    /// Nil: it is no such address, or holds credentials, which belong elsewhere.
    package init?(_ text: String) {
        let address = text.contains("://") ? text : "nats://\(text)"
        guard let parts = URLComponents(string: address), let host = parts.host, !host.isEmpty,
            ["nats", "tls"].contains(parts.scheme), parts.user == nil, parts.password == nil,
            ["", "/"].contains(parts.path), parts.query == nil, (1...65_535).contains(parts.port ?? 4222)
        else { return nil }
        self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        port = parts.port ?? 4222
        wantsTLS = parts.scheme == "tls"
    }

    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// What one server of a cluster demands, all do.
    mutating func inheritSecurity(of other: NATSServer) {
        wantsTLS = wantsTLS || other.wantsTLS
        securesFirst = other.securesFirst
    }
}
