import NIOSSL

/// A certificate with its key, with which a connection authenticates itself (RFC 8446, section 4.4.2).
package struct ClientCertificate: Sendable {
    /// What is wrong with one, in words that tell nothing of the key.
    package enum Mistake: String, Error {
        case certificates = "certificates: expected certificates in PEM, the own one first"
        case key = "key: expected a private key in PEM that is not encrypted"
        case pair = "key: expected the private key of the first certificate"
    }

    let chain: [NIOSSLCertificateSource]
    let key: NIOSSLPrivateKeySource
    /// The same in PEM, for libcurl.
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
        // Only the pair is on trial: reading the system's roots would cost milliseconds.
        configuration.trustRoots = .certificates([])
        configuration.certificateChain = self.chain
        configuration.privateKey = self.key
        guard (try? NIOSSLContext(configuration: configuration)) != nil else { throw .pair }
    }
}
