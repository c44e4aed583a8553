import NIOSSL

/// A certificate with its key, with which a connection authenticates itself (RFC 8446, section 4.4.2).
package struct ClientCertificate: Sendable {
    let chain: [NIOSSLCertificateSource]
    let key: NIOSSLPrivateKeySource
    /// The same in PEM, for libcurl.
    let chainPEM: String
    let keyPEM: String

    /// - Parameters:
    ///   - certificates: PEM, the own one first.
    ///   - key: Its private key, in PEM.
    /// - Throws: NIOSSL's errors when either cannot be read.
    package init(certificates: String, key: String) throws {
        chainPEM = certificates
        keyPEM = key
        chain = try NIOSSLCertificate.fromPEMBytes(Array(certificates.utf8)).map { .certificate($0) }
        self.key = .privateKey(try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem))
    }
}
