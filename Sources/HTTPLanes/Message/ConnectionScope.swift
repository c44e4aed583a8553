import NIOConcurrencyHelpers
import NIOSSL
import Synchronization

/// Requests of different scopes never share a connection: for credentials that a server ties to a connection. Scopes are
/// told apart by identity; requests without one share connections with each other.
package final class ConnectionScope: Sendable {
    /// What its owner calls it, for people; two scopes may have the same. Never a secret.
    package let word: String
    /// What connections of this scope authenticate themselves with.
    package let clientCertificate: ClientCertificate?
    private let retired = Synchronization.Atomic(false)
    private let madeContext = NIOLockedValueBox<NIOSSLContext?>(nil)

    package init(word: String = "", clientCertificate: ClientCertificate? = nil) {
        self.word = word
        self.clientCertificate = clientCertificate
    }

    /// Whether its connections are kept no longer than what is under way on them.
    var isRetired: Bool { retired.load(ordering: .relaxed) }

    func retire() { retired.store(true, ordering: .relaxed) }

    /// What `make` made the first time.
    func tlsContext(_ make: () -> NIOSSLContext?) -> NIOSSLContext? {
        madeContext.withLockedValue { context in
            context = context ?? make()
            return context
        }
    }
}

extension ConnectionScope: Hashable {
    package static func == (one: ConnectionScope, other: ConnectionScope) -> Bool { one === other }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}
