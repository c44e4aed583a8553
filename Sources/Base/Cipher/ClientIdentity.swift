import COpenSSL

/// A certificate with its private key and the certificates that belong to it: what a client proves itself with in TLS.
package struct ClientIdentity: Sendable, Concealed {
    /// The own one, then the others as they came.
    package let certificates: [X509Certificate]
    /// The private key as a PEM text, not encrypted: the secret itself.
    package let keyPEM: String

    /// The certificates as one PEM text, the own one first.
    package var certificatesPEM: String { self.certificates.map(\.pemRepresentation).joined() }

    /// The certificate that the private key belongs to.
    package var certificate: X509Certificate { self.certificates[0] }

    /// Reads PEM texts: `CERTIFICATE` blocks from one and a private key from the other, which may be the same text.
    ///
    /// Throws when either is missing or unreadable, when `passphrase` does not open the key, and when the key belongs
    /// to none of the certificates.
    package init(certificates: String, key: String, passphrase: String? = nil) throws {
        let found = try PEM.certificates(certificates).map { try X509Certificate(adopting: $0) }
        guard !found.isEmpty else { throw CipherError.unreadableCertificate }
        guard let key = PEM.privateKey(key, passphrase: passphrase) else { throw CipherError.unreadableKey }
        defer { EVP_PKEY_free(key) }
        try self.init(found, key: key)
    }

    /// Reads a PKCS#12 file (RFC 7292), also one that is encrypted in the old ways.
    ///
    /// Throws when it is none, when `passphrase` does not open it, and when there is no certificate with its private
    /// key in it.
    package init(pkcs12 bytes: [UInt8], passphrase: String = "") throws {
        let content = try PKCS12Content(bytes, passphrase: passphrase)
        // It frees the key.
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

/// What a PKCS#12 file (RFC 7292) holds.
///
/// It is read in a context of libcrypto of its own, in which the old ciphers are allowed, too: Apple's Keychain still
/// writes files that are encrypted with RC2. Nothing else gets to use them.
final class PKCS12Content {
    let certificates: [X509Certificate]
    /// Freed with this.
    let key: OpaquePointer
    /// The key is of this context.
    private let context: Context

    private final class Context {
        let library: OpaquePointer?
        private let providers: [OpaquePointer?]

        init() {
            let library = OSSL_LIB_CTX_new()
            self.library = library
            // Without the old ones, which not every installation has, the new ones are read all the same.
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

    /// Throws when `bytes` are no such file, when `passphrase` does not open it, and when there is no private key and
    /// no certificate in it.
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

    /// An empty passphrase may be written in two ways.
    private static func opens(_ file: OpaquePointer, _ passphrase: String) -> Bool {
        guard PKCS12_mac_present(file) == 1 else { return true }
        return PKCS12_verify_mac(file, passphrase, -1) == 1
            || passphrase.isEmpty && PKCS12_verify_mac(file, nil, 0) == 1
    }

    /// The certificate in the ordinary context of libcrypto; frees the one that it is of.
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
