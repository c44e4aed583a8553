import COpenSSL
import Cipher
import Foundation
import NIOSSL

/// A certificate authority for one run of the lab. It issues the servers' certificate and push certificates.
struct CertificateAuthority: Sendable {
    /// A certificate and its key, both in PEM.
    struct Issued {
        var certificatePEM: String
        var keyPEM: String
    }

    private static let day: Int64 = 86_400

    /// The authority's certificate, which clients trust.
    let certificatePEM: String
    private let key = P256PrivateKey()

    /// Valid from a day before to a year after `now`, in seconds since 1970.
    init(now: Int64) throws(LabError) {
        certificatePEM = try Certificate(
            subject: [("CN", "Carillon lab authority")],
            key: key,
            issuer: nil,
            valid: now - Self.day..<now + 365 * Self.day,
            extensions: [
                .named(NID_basic_constraints, "critical,CA:TRUE,pathlen:0"),
                .named(NID_key_usage, "critical,keyCertSign,cRLSign"),
                .named(NID_subject_key_identifier, "hash"),
            ]
        ).pem()
    }

    /// Issues a certificate for servers on localhost, 127.0.0.1, ::1 and other names, valid for a year.
    func issueServer(named names: [String], now: Int64) throws(LabError) -> Issued {
        let others = names.map { ",DNS:" + $0 }.joined()
        let serverKey = P256PrivateKey()
        let server = try Certificate(
            subject: [("CN", "localhost")],
            key: serverKey,
            issuer: (Certificate(pem: certificatePEM), key),
            valid: now - Self.day..<now + 365 * Self.day,
            extensions: [
                .named(NID_basic_constraints, "critical,CA:FALSE"),
                .named(NID_key_usage, "critical,digitalSignature"),
                .named(NID_ext_key_usage, "serverAuth"),
                .named(NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1,IP:::1" + others),
                .named(NID_subject_key_identifier, "hash"),
                .named(NID_authority_key_identifier, "keyid:always"),
            ]
        )
        return Issued(certificatePEM: try server.pem(), keyPEM: serverKey.pemRepresentation)
    }

    /// Issues a push certificate as Apple does, with the topics in an extension. The first topic is the UID of the
    /// subject.
    func issuePush(
        topics: [String],
        environments: Set<APNsEnvironment>,
        valid: Range<Int64>
    ) throws(LabError) -> PushCertificate {
        guard let first = topics.first else { throw LabError.invalid("A push certificate is for a topic at least.") }
        let pushKey = P256PrivateKey()
        let flags = [
            (APNsEnvironment.sandbox, ApplePushExtension.sandbox), (.production, ApplePushExtension.production),
        ]
        let certificate = try Certificate(
            subject: [("UID", first), ("CN", "Apple Push Services: \(first)"), ("C", "US")],
            key: pushKey,
            issuer: (Certificate(pem: certificatePEM), key),
            valid: valid,
            extensions: [
                .named(NID_basic_constraints, "critical,CA:FALSE"),
                .named(NID_key_usage, "critical,digitalSignature"),
                .named(NID_ext_key_usage, "clientAuth"),
                .named(NID_subject_key_identifier, "hash"),
                .named(NID_authority_key_identifier, "keyid:always"),
                .raw(ApplePushExtension.topics, ApplePushExtension.encode(topics)),
            ] + flags.filter { environments.contains($0.0) }.map { .raw($0.1, ApplePushExtension.present) }
        )
        let password = "lab"
        return PushCertificate(
            certificatePEM: try certificate.pem(),
            keyPEM: pushKey.pemRepresentation,
            pkcs12: try certificate.pkcs12(key: pushKey, password: password),
            password: password
        )
    }
}

/// A push certificate: an operator's credentials for APNs instead of a key.
public struct PushCertificate: Sendable, Hashable {
    /// One certificate, without its issuer's. Only the lab that issued it accepts it. Topics and environments are in
    /// Apple's extensions.
    public var certificatePEM: String
    /// PKCS#8.
    public var keyPEM: String
    /// Certificate and key as PKCS#12.
    public var pkcs12: [UInt8]
    /// The password of `pkcs12`.
    public var password: String
}

extension PushCertificate: CustomStringConvertible {
    /// Without the key.
    public var description: String { "PushCertificate" }
}

/// The servers' certificate and the authority that clients should trust.
struct LabTLS {
    let authorityFile: String
    let authority: CertificateAuthority
    private let chain: [NIOSSLCertificate]
    private let key: NIOSSLPrivateKeySource

    /// Reads the given files, or makes an authority and writes its certificate to `ca.pem`.
    init(_ configuration: LabConfiguration, folder: LabFolder) throws {
        let now = Self.now
        authority = try CertificateAuthority(now: now)
        if let files = configuration.certificate {
            authorityFile = files.authority
            chain = try NIOSSLCertificate.fromPEMFile(files.chain)
            key = .privateKey(try NIOSSLPrivateKey(file: files.key, format: .pem))
        } else {
            let server = try authority.issueServer(named: configuration.serverNames, now: now)
            authorityFile = try folder.write(authority.certificatePEM, to: "ca.pem")
            chain = try NIOSSLCertificate.fromPEMBytes(Array(server.certificatePEM.utf8))
            key = .privateKey(try NIOSSLPrivateKey(bytes: Array(server.keyPEM.utf8), format: .pem))
        }
    }

    /// The machine's time in seconds since 1970. Clients check certificates with it, whatever the lab's clock shows.
    static var now: Int64 { Int64(Date().timeIntervalSince1970) }

    /// The SHA-256 of the servers' public key (SubjectPublicKeyInfo), in base64.
    func keyHash() throws -> String {
        guard let leaf = chain.first else {
            throw LabError.invalid("The servers' certificate file has no certificate.")
        }
        return Data(SHA256.hash(try leaf.extractPublicKey().toSPKIBytes())).base64EncodedString()
    }

    /// `protocols` are ALPN names.
    func context(protocols: [String], asksForCertificates: Bool = false) throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) },
            privateKey: key
        )
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = protocols
        if asksForCertificates {
            configuration.certificateVerification = .optionalVerification
            configuration.trustRoots = .certificates([])
        }
        return try NIOSSLContext(configuration: configuration)
    }
}

/// An X.509 certificate (RFC 5280) under construction.
final class Certificate {
    private let x509: OpaquePointer

    enum Extension {
        /// In the syntax of OpenSSL's configuration files.
        case named(Int32, String)
        /// By its object identifier, in DER.
        case raw(String, [UInt8])
    }

    /// Signed by `issuer`, or self-signed without one. `subject` uses OpenSSL's short names; `valid` is in seconds
    /// since 1970.
    init(
        subject: [(name: String, value: String)],
        key: P256PrivateKey,
        issuer: (certificate: Certificate, key: P256PrivateKey)?,
        valid: Range<Int64>,
        extensions: [Extension]
    ) throws(LabError) {
        guard let x509 = X509_new() else { throw LabError.system("libcrypto made no certificate.") }
        self.x509 = x509
        let ownKey = try Self.libraryKey(key)
        defer { EVP_PKEY_free(ownKey) }
        let issuerKey = try Self.libraryKey(issuer?.key ?? key)
        defer { EVP_PKEY_free(issuerKey) }
        let issuerX509 = issuer?.certificate.x509 ?? x509

        // 2 means version 3. A random serial of 64 bits keeps certificates of several runs apart in a client's cache.
        var isGood = X509_set_version(x509, 2) == 1
        let serial = SecureRandom.bytes(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } >> 1
        isGood = isGood && ASN1_INTEGER_set_uint64(X509_get_serialNumber(x509), serial) == 1
        isGood = isGood && ASN1_TIME_set(X509_getm_notBefore(x509), time_t(valid.lowerBound)) != nil
        isGood = isGood && ASN1_TIME_set(X509_getm_notAfter(x509), time_t(valid.upperBound)) != nil
        for (name, value) in subject {
            isGood = isGood && Self.add(name, value, toNameOf: x509)
        }
        isGood = isGood && X509_set_issuer_name(x509, X509_get_subject_name(issuerX509)) == 1
        isGood = isGood && X509_set_pubkey(x509, ownKey) == 1
        for one in extensions {
            isGood = isGood && Self.add(one, to: x509, issuer: issuerX509)
        }
        isGood = isGood && X509_sign(x509, issuerKey, EVP_sha256()) > 0
        guard isGood else {
            ERR_clear_error()
            throw LabError.system("libcrypto could not make the lab's certificate.")
        }
    }

    /// Parses a certificate. Throws `LabError` if the text is invalid.
    init(pem: String) throws(LabError) {
        guard let x509 = Self.read(pem, { PEM_read_bio_X509($0, nil, nil, nil) }) else {
            throw LabError.invalid("This is not a certificate in PEM.")
        }
        self.x509 = x509
    }

    deinit {
        X509_free(x509)
    }

    func pem() throws(LabError) -> String {
        let output = BIO_new(BIO_s_mem())
        defer { BIO_free(output) }
        guard PEM_write_bio_X509(output, x509) == 1 else { throw LabError.system("libcrypto wrote no certificate.") }
        var bytes = [UInt8](repeating: 0, count: BIO_ctrl_pending(output))
        let count = BIO_read(output, &bytes, Int32(bytes.count))
        return String(decoding: bytes.prefix(max(0, Int(count))), as: UTF8.self)
    }

    /// Certificate and key in one file, as PKCS#12 (RFC 7292).
    func pkcs12(key: P256PrivateKey, password: String) throws(LabError) -> [UInt8] {
        let libraryKey = try Self.libraryKey(key)
        defer { EVP_PKEY_free(libraryKey) }
        guard let made = PKCS12_create(password, "Carillon lab", libraryKey, x509, nil, 0, 0, 0, 0, 0) else {
            ERR_clear_error()
            throw LabError.system("libcrypto wrote no PKCS#12.")
        }
        defer { PKCS12_free(made) }
        var bytes = [UInt8](repeating: 0, count: max(0, Int(i2d_PKCS12(made, nil))))
        let count = bytes.withUnsafeMutableBufferPointer { buffer in
            var pointer = buffer.baseAddress
            return i2d_PKCS12(made, &pointer)
        }
        guard count > 0 else { throw LabError.system("libcrypto wrote no PKCS#12.") }
        return bytes
    }

    private static func add(_ name: String, _ value: String, toNameOf x509: OpaquePointer) -> Bool {
        let text = Array(value.utf8)
        let subject = X509_get_subject_name(x509)
        return X509_NAME_add_entry_by_txt(subject, name, MBSTRING_FLAG | 1, text, Int32(text.count), -1, 0) == 1
    }

    private static func add(_ one: Extension, to x509: OpaquePointer, issuer: OpaquePointer) -> Bool {
        let made: OpaquePointer?
        switch one {
        case .named(let nid, let value):
            var context = v3_ext_ctx()
            X509V3_set_ctx(&context, issuer, x509, nil, nil, 0)
            made = X509V3_EXT_nconf_nid(nil, &context, nid, value)
        case .raw(let oid, let der):
            let object = OBJ_txt2obj(oid, 1)
            defer { ASN1_OBJECT_free(object) }
            let octets = ASN1_OCTET_STRING_new()
            defer { ASN1_OCTET_STRING_free(octets) }
            guard ASN1_OCTET_STRING_set(octets, der, Int32(der.count)) == 1 else { return false }
            made = X509_EXTENSION_create_by_OBJ(nil, object, 0, octets)
        }
        guard let made else { return false }
        defer { X509_EXTENSION_free(made) }
        return X509_add_ext(x509, made, -1) == 1
    }

    private static func libraryKey(_ key: P256PrivateKey) throws(LabError) -> OpaquePointer {
        guard let key = self.read(key.pemRepresentation, { PEM_read_bio_PrivateKey($0, nil, nil, nil) }) else {
            throw LabError.system("libcrypto did not read back a key it wrote.")
        }
        return key
    }

    /// Passes a PEM text to libcrypto. It stays in memory until `parse` returns, because a BIO does not copy it. The
    /// caller frees the result.
    static func read(_ pem: String, _ parse: (OpaquePointer?) -> OpaquePointer?) -> OpaquePointer? {
        var pem = pem
        return pem.withUTF8 { bytes in
            let input = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count))
            defer { BIO_free(input) }
            let result = parse(input)
            ERR_clear_error()
            return result
        }
    }
}
