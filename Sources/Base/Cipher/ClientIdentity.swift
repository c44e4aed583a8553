import COpenSSL

/// A client certificate for TLS with its private key and the other certificates of its chain.
package struct ClientIdentity: Sendable, Concealed {
    /// The client's certificate first, then the others in their original order.
    package let certificates: [X509Certificate]
    /// The private key as PEM, not encrypted: the secret itself.
    package let keyPEM: String

    /// The certificates as one PEM string, the client's first.
    package var certificatesPEM: String { self.certificates.map(\.pemRepresentation).joined() }

    /// The certificate of the private key.
    package var certificate: X509Certificate { self.certificates[0] }

    /// Reads PEM strings: `CERTIFICATE` blocks from one and a private key from the other. Both may be the same string.
    ///
    /// Throws if either is missing or unreadable, if `passphrase` does not decrypt the key, or if no certificate has
    /// this key.
    package init(certificates: String, key: String, passphrase: String? = nil) throws {
        let found = try PEM.certificates(certificates).map { try X509Certificate(adopting: $0) }
        guard !found.isEmpty else { throw CipherError.unreadableCertificate }
        guard let key = PEM.privateKey(key, passphrase: passphrase) else { throw CipherError.unreadableKey }
        defer { EVP_PKEY_free(key) }
        try self.init(found, key: key)
    }

    /// Reads a PKCS#12 file (RFC 7292), including one with legacy encryption.
    ///
    /// Throws if it is not such a file, if `passphrase` does not decrypt it, or if it has no certificate with its
    /// private key.
    package init(pkcs12 bytes: [UInt8], passphrase: String = "") throws {
        let content = try PKCS12Content(bytes, passphrase: passphrase)
        // Its deinit frees the key.
        defer { withExtendedLifetime(content) {} }
        try self.init(content.certificates, key: content.key)
    }

    private init(_ certificates: [X509Certificate], key: OpaquePointer) throws {
        let own = certificates.firstIndex { X509_check_private_key($0.certificate, key) == 1 }
        Library.clearErrors()
        guard let own else { throw CipherError.keyOfAnotherCertificate }
        self.certificates = [certificates[own]] + certificates[..<own] + certificates[(own + 1)...]
        self.keyPEM = PEM.write(privateKey: key)
    }
}

/// The content of a PKCS#12 file (RFC 7292).
///
/// It is read in a separate libcrypto context that allows legacy ciphers: Apple's Keychain still encrypts files with
/// RC2. All other code cannot use these ciphers.
final class PKCS12Content {
    let certificates: [X509Certificate]
    /// Freed on deinit.
    let key: OpaquePointer
    /// The key belongs to this context.
    private let context: Context

    private final class Context {
        let library: OpaquePointer?
        private let providers: [OpaquePointer?]

        init() {
            let library = OSSL_LIB_CTX_new()
            self.library = library
            // If the legacy provider is not installed, files with current encryption can still be read.
            self.providers = [OSSL_PROVIDER_load(library, "default"), OSSL_PROVIDER_load(library, "legacy")]
            Library.clearErrors()
        }

        deinit {
            for provider in self.providers where provider != nil {
                OSSL_PROVIDER_unload(provider)
            }
            OSSL_LIB_CTX_free(self.library)
        }
    }

    /// Throws if `bytes` are not such a file, if `passphrase` does not decrypt it, or if it has no private key or no
    /// certificate.
    init(_ bytes: [UInt8], passphrase: String) throws {
        let context = Context()
        let file = try PKCS12Content.file(bytes, context)
        defer { PKCS12_free(file) }
        guard PKCS12Content.opens(file, passphrase) else {
            Library.clearErrors()
            throw CipherError.wrongPassphrase
        }
        var key: OpaquePointer?
        var own: OpaquePointer?
        var others: OpaquePointer?
        let isParsed = PKCS12_parse(file, passphrase, &key, &own, &others) == 1
        Library.clearErrors()
        let found = [own].compactMap(\.self) + PKCS12Content.elements(takenFrom: others)
        var certificates: [X509Certificate] = []
        do {
            for certificate in found {
                certificates.append(try PKCS12Content.copy(of: certificate))
            }
        } catch {
            EVP_PKEY_free(key)
            throw error
        }
        guard isParsed, let key, !certificates.isEmpty else {
            EVP_PKEY_free(key)
            throw CipherError.emptyPKCS12
        }
        self.context = context
        self.key = key
        self.certificates = certificates
    }

    deinit {
        EVP_PKEY_free(self.key)
    }

    private static func file(_ bytes: [UInt8], _ context: Context) throws -> OpaquePointer {
        // The object to read into selects the context.
        var file = PKCS12_init_ex(NID_pkcs7_data, context.library, nil)
        let isRead = bytes.withUnsafeBytes { bytes in
            let source = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count))
            defer { BIO_free(source) }
            return d2i_PKCS12_bio(source, &file) != nil
        }
        guard isRead, let file else {
            Library.clearErrors()
            PKCS12_free(file)
            throw CipherError.unreadablePKCS12
        }
        return file
    }

    /// An empty passphrase has two encodings.
    private static func opens(_ file: OpaquePointer, _ passphrase: String) -> Bool {
        guard PKCS12_mac_present(file) == 1 else { return true }
        return PKCS12_verify_mac(file, passphrase, -1) == 1
            || passphrase.isEmpty && PKCS12_verify_mac(file, nil, 0) == 1
    }

    /// Copies a certificate into the default libcrypto context, and frees the original.
    private static func copy(of certificate: OpaquePointer) throws -> X509Certificate {
        defer { X509_free(certificate) }
        let text = PEM.write(certificate: certificate)
        guard let copy = PEM.certificates(text).first else { throw CipherError.unreadableCertificate }
        return try X509Certificate(adopting: copy)
    }

    private static func elements(takenFrom stack: OpaquePointer?) -> [OpaquePointer] {
        defer { OPENSSL_sk_free(stack) }
        return (0..<max(0, OPENSSL_sk_num(stack))).compactMap { OPENSSL_sk_value(stack, $0).map(OpaquePointer.init) }
    }
}
