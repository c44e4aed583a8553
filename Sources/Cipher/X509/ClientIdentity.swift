import COpenSSL

/// A certificate with its private key and the certificates that belong to it: what a client proves itself with in TLS.
package struct ClientIdentity: Sendable, Concealed {
    /// The own one, then the others as they came.
    package let certificates: [X509Certificate]
    /// The private key as a PEM text, not encrypted: the secret itself.
    package let keyPEM: String

    /// The certificates as one PEM text, the own one first.
    package var certificatesPEM: String { self.certificates.map(\.pemRepresentation).joined() }

    /// The one whose private key this has.
    package var certificate: X509Certificate { self.certificates[0] }

    /// Reads PEM texts: `CERTIFICATE` blocks from one and a private key from the other, which may be the same text.
    ///
    /// Throws when either is missing or unreadable, when `passphrase` does not open the key, and when the key belongs to none
    /// of the certificates.
    package init(certificates: String, key: String, passphrase: String? = nil) throws {
        let found = try PEM.certificates(certificates).map { try X509Certificate(adopting: $0) }
        guard !found.isEmpty else {
            throw CipherError.unreadableCertificate
        }
        guard let key = PEM.privateKey(key, passphrase: passphrase) else {
            throw CipherError.unreadableKey
        }
        defer { EVP_PKEY_free(key) }
        try self.init(found, key: key)
    }

    /// Reads a PKCS#12 file (RFC 7292), also one that is encrypted in the old ways.
    ///
    /// Throws when it is none, when `passphrase` does not open it, and when there is no certificate with its private key in it.
    package init(pkcs12 bytes: [UInt8], passphrase: String = "") throws {
        let content = try PKCS12Content(bytes, passphrase: passphrase)
        // It frees the key.
        defer { withExtendedLifetime(content) {} }
        try self.init(content.certificates, key: content.key)
    }

    private init(_ certificates: [X509Certificate], key: OpaquePointer) throws {
        let own = certificates.firstIndex { X509_check_private_key($0.certificate, key) == 1 }
        Library.clearErrors()
        guard let own else {
            throw CipherError.keyOfAnotherCertificate
        }
        self.certificates = [certificates[own]] + certificates[..<own] + certificates[(own + 1)...]
        self.keyPEM = PEM.write(privateKey: key)
    }
}
