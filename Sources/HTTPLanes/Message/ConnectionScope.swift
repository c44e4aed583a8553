/// Requests of different scopes never share a connection: for credentials that a server ties to a connection. Scopes are
/// told apart by identity; requests without one share connections with each other.
package final class ConnectionScope: Sendable {
    /// What connections of this scope authenticate themselves with.
    package let clientCertificate: ClientCertificate?

    package init(clientCertificate: ClientCertificate? = nil) {
        self.clientCertificate = clientCertificate
    }
}

extension ConnectionScope: Hashable {
    package static func == (one: ConnectionScope, other: ConnectionScope) -> Bool { one === other }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}
