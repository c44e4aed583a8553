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

    /// Issues a certificate for servers on localhost, 127.0.0.1, ::1 and further names, valid for a year.
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
    /// One certificate, without that of its issuer. Only the lab that issued it accepts it. Topics and environments are
    /// in Apple's extensions.
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

    /// The machine's time in seconds since 1970: clients check certificates with it, whatever the lab's clock says.
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
