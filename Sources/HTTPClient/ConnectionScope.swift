import Glibc
import NIOSSL
import Synchronization

/// Requests of different scopes never share a connection: for credentials that a server ties to a connection. Scopes
/// are distinguished by identity; requests without one share connections with each other.
package final class ConnectionScope: Sendable {
    /// A name for people, given by its owner; two scopes may share it. Never a secret.
    package let word: String
    /// Authenticates the connections of this scope.
    package let clientCertificate: ClientCertificate?
    private let retired = Synchronization.Atomic(false)
    private let madeContext = Mutex<NIOSSLContext?>(nil)

    package init(word: String = "", clientCertificate: ClientCertificate? = nil) {
        self.word = word
        self.clientCertificate = clientCertificate
    }

    /// Whether its connections close as soon as nothing is under way on them.
    var isRetired: Bool { retired.load(ordering: .relaxed) }

    func retire() { retired.store(true, ordering: .relaxed) }

    /// The result of the first call of `make`.
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

/// A certificate with its key, with which a connection authenticates itself (RFC 8446, section 4.4.2).
package struct ClientCertificate: Sendable {
    /// What is wrong with one, in words that reveal nothing about the key.
    package enum Mistake: String, Error {
        case certificates = "certificates: expected certificates in PEM, the own one first"
        case key = "key: expected a private key in PEM that is not encrypted"
        case pair = "key: expected the private key of the first certificate"
    }

    let chain: [NIOSSLCertificateSource]
    let key: NIOSSLPrivateKeySource
    /// Both in PEM, for libcurl.
    let chainPEM: String
    let keyPEM: String

    /// - Parameters:
    ///   - certificates: PEM, the own one first.
    ///   - key: Its private key, in PEM.
    /// - Throws: What is wrong with either, or that they are no pair.
    package init(certificates: String, key: String) throws(Mistake) {
        guard let chain = try? NIOSSLCertificate.fromPEMBytes(Array(certificates.utf8)), !chain.isEmpty else {
            throw .certificates
        }
        guard let privateKey = try? NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem) else { throw .key }
        chainPEM = certificates
        keyPEM = key
        self.chain = chain.map { .certificate($0) }
        self.key = .privateKey(privateKey)
        var configuration = TLSConfiguration.makeClientConfiguration()
        // This only checks the pair; reading the system's roots would cost milliseconds.
        configuration.trustRoots = .certificates([])
        configuration.certificateChain = self.chain
        configuration.privateKey = self.key
        guard (try? NIOSSLContext(configuration: configuration)) != nil else { throw .pair }
    }
}

/// A file with root certificates in PEM.
package enum RootCertificates {
    /// What is wrong with the file, in words for its owner; nil when it holds certificates.
    package static func flaw(ofFile name: String) -> String? {
        // The effective user counts, which differs from the real one in commands that root runs.
        guard faccessat(AT_FDCWD, name, R_OK, AT_EACCESS) == 0 else { return "cannot read \(name)" }
        let certificates = (try? NIOSSLCertificate.fromPEMFile(name)) ?? []
        return certificates.isEmpty ? "expected certificates in PEM, which \(name) does not hold" : nil
    }
}
