import Glibc
import NIOSSL
import Synchronization

/// Separates connections: requests of different scopes never share one, for credentials that a server ties to a
/// connection. Scopes are compared by identity; requests without a scope share connections with each other.
package final class ConnectionScope: Sendable {
    /// A display name chosen by the owner; two scopes may share it. Never a secret.
    package let word: String
    /// Authenticates the connections of this scope.
    package let clientCertificate: ClientCertificate?
    private let retired = Synchronization.Atomic(false)
    private let madeContext = Mutex<NIOSSLContext?>(nil)

    package init(word: String = "", clientCertificate: ClientCertificate? = nil) {
        self.word = word
        self.clientCertificate = clientCertificate
    }

    /// Whether its connections close as soon as they are idle.
    var isRetired: Bool { retired.load(ordering: .relaxed) }

    func retire() { retired.store(true, ordering: .relaxed) }

    /// Caches the result of the first call of `make`.
    func tlsContext(_ make: () -> NIOSSLContext?) -> NIOSSLContext? {
        madeContext.withLock { context in
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

/// A certificate with its key, for TLS client authentication (RFC 8446, section 4.4.2).
package struct ClientCertificate: Sendable {
    /// The problem with a certificate or key; reveals nothing about the key.
    package enum FormatError: String, Error {
        case certificates = "certificates: expected PEM, starting with the client's certificate"
        case key = "key: expected an unencrypted private key in PEM"
        case pair = "key: expected the private key of the first certificate"
    }

    let chain: [NIOSSLCertificateSource]
    let key: NIOSSLPrivateKeySource
    /// Both in PEM, for libcurl.
    let chainPEM: String
    let keyPEM: String

    /// - Parameters:
    ///   - certificates: PEM, the client's own certificate first.
    ///   - key: Its private key, in PEM.
    /// - Throws: The problem with either, or that they do not match.
    package init(certificates: String, key: String) throws(FormatError) {
        guard let chain = try? NIOSSLCertificate.fromPEMBytes(Array(certificates.utf8)), !chain.isEmpty else {
            throw .certificates
        }
        guard let privateKey = try? NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem) else { throw .key }
        chainPEM = certificates
        keyPEM = key
        self.chain = chain.map { .certificate($0) }
        self.key = .privateKey(privateKey)
        var configuration = TLSConfiguration.makeClientConfiguration()
        // This only checks the pair; reading the system's roots would take milliseconds.
        configuration.trustRoots = .certificates([])
        configuration.certificateChain = self.chain
        configuration.privateKey = self.key
        guard (try? NIOSSLContext(configuration: configuration)) != nil else { throw .pair }
    }
}

/// A file with root certificates in PEM.
package enum RootCertificates {
    /// The problem with the file, for its owner; nil if it holds certificates.
    package static func flaw(ofFile name: String) -> String? {
        // Uses the effective user, which differs from the real one in commands that root runs.
        guard faccessat(AT_FDCWD, name, R_OK, AT_EACCESS) == 0 else { return "cannot read \(name)" }
        let certificates = (try? NIOSSLCertificate.fromPEMFile(name)) ?? []
        return certificates.isEmpty ? "expected certificates in PEM, which \(name) does not hold" : nil
    }
}
